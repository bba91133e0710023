"""The floors of the tree, read from CMakeLists.txt: which folder may include which.

A floor is declared as `pontage_floor(PATH DEPS a b ...)`; a file may include its own folder and what its floor reaches.
"""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns):
    """Files that git knows or would add, so that build folders never count."""
    out = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in sorted(set(out.splitlines())) if (ROOT / line).is_file()]


def _target(path):
    return "pontage_" + re.sub("^src_", "", path.replace("/", "_"))


def read_floors():
    """{folder: set of folders it may include, itself among them}"""
    cmake = re.sub(r"#.*", "", (ROOT / "CMakeLists.txt").read_text())
    variables = {name: value.split() for name, value in re.findall(r"set\((\w+) ([^)\"]*)\)", cmake)}
    direct, folders = {}, {}
    for path, rest in re.findall(r"pontage_floor\((\S+?)(?:\s+DEPS\s+([^)]*))?\)", cmake):
        if "$" in path or path == "path":
            continue
        deps = []
        for word in (rest or "").split():
            variable = re.fullmatch(r"\$\{(\w+)\}", word)
            deps += variables.get(variable[1], []) if variable else [word]
        folders[_target(path)] = path
        direct[_target(path)] = deps

    def reach(target, seen):
        for dep in direct.get(target, []):
            if dep in folders and dep not in seen:
                seen.add(dep)
                reach(dep, seen)
        return seen

    return {folders[t]: {folders[d] for d in reach(t, set())} | {folders[t]} for t in folders}


def includes(path):
    """(line number, included path) of each #include of the project's own files."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield number, match[1]
