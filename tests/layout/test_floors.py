"""A file includes its own folder and lower floors only; protocols/ stays free of sockets, clocks, threads and logs."""
import re

from floors import ROOT, includes, read_floors, tracked

SYSTEM_ALLOWED_IN_PROTOCOLS = re.compile(
    r"algorithm|array|atomic|bit|bitset|cassert|cctype|charconv|chrono|climits|compare|concepts|cstddef|cstdint|cstring|ctime|functional|"
    r"initializer_list|iterator|limits|memory|new|numeric|optional|span|string|string_view|system_error|tuple|type_traits|"
    r"utility|variant|vector|version|(x|e|i|n)?mmintrin\.h|immintrin\.h|arm_neon\.h|nghttp2/nghttp2\.h")


def sources(*roots):
    return [p for p in tracked("*.h", "*.cc") if p.relative_to(ROOT).parts[0] in roots]


def test_every_source_folder_is_a_floor():
    floors = read_floors()
    strays = {str(p.parent.relative_to(ROOT)) for p in sources("src", "protocols")} - set(floors) - {"src"}
    assert not strays, f"folders that CMakeLists.txt does not name: {sorted(strays)}"


def test_floors_have_no_cycle():
    floors = read_floors()
    for floor, below in floors.items():
        for other in below - {floor}:
            assert floor not in floors[other], f"{floor} and {other} need each other"


def test_files_include_their_own_folder_and_lower_floors_only():
    floors = read_floors()
    wrong = []
    for path in sources("src", "protocols"):
        folder = str(path.parent.relative_to(ROOT))
        allowed = floors.get(folder, set(floors))  # src/main.cc stands above all
        for line, target in includes(path):
            if not (ROOT / target).is_file():
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {target} is no path from the repository root")
            elif str((ROOT / target).parent.relative_to(ROOT)) not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {folder} must not include {target}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_codecs_know_no_system():
    wrong = []
    for path in sources("protocols"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
            if match and not SYSTEM_ALLOWED_IN_PROTOCOLS.fullmatch(match[1]):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: <{match[1]}>")
            if re.search(r"^(?!\s*//).*(\bthrow\s|_clock::now)", line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not wrong, "\n" + "\n".join(wrong)
