"""The file server: what is found, what is said of it, how it is encoded, and what happens when it changes."""
import email.utils
import gzip
import json
import os
import re
import socket
import threading
import time
import zlib

import pytest

from harness import amount, eventually

pytestmark = pytest.mark.smoke

TEXT = b"".join(b"line %d of a text that compresses well\n" % i for i in range(3000))
SCRIPT = b"function hello() { return 'hello'; }\n" * 100


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "www"
    folder.mkdir()
    put(folder, "index.html", b"<h1>home</h1>\n")
    put(folder, "404.html", b"<h1>nothing here</h1>\n")
    put(folder, "app.js", SCRIPT)
    put(folder, "text.txt", TEXT)
    put(folder, "style.css", b"body { color: black }\n" * 100)
    put(folder, "image.png", os.urandom(5000))
    put(folder, "ten.txt", b"0123456789")
    put(folder, "sub/index.html", b"<h1>sub</h1>\n")
    put(folder, "plain/a.txt", b"a")
    return folder


def put(root, name, data):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def replace(path, data):
    """As deployments do it: a new file takes the name."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(data)
    os.replace(fresh, path)


@pytest.fixture
def serve(start, root):
    """serve(key=..., route={...}) -> a gateway of one files:-route"""
    def begin(route=None, limits=None, **files):
        config = {"routes": [{"files": {"root": str(root), **files}, **(route or {})}]}
        if limits:
            config["static_cache"] = limits
        return start(config)
    return begin


# --- what is found


def test_try_falls_back_to_one_page(serve):
    gateway = serve(**{"try": ["$path", "$path/", "/index.html"]})
    assert gateway.get("/app.js").body == SCRIPT
    assert gateway.get("/sub/").body == b"<h1>sub</h1>\n"
    for path in ("/", "/orders/12", "/no/such.js", "/plain/"):
        response = gateway.get(path)
        assert (response.status, response.body) == (200, b"<h1>home</h1>\n"), path
        assert response.header("Content-Type") == "text/html; charset=utf-8"
    assert gateway.get("/sub").header("Location") == "/sub/"
    assert gateway.get("/.hidden").status == 404
    assert gateway.request("POST", "/orders", body=b"x").status == 405


def test_try_knows_other_names_and_statuses(serve, root):
    put(root, "about.html", b"about")
    gateway = serve(**{"try": ["$path", "$path.html", "=410"]})
    assert gateway.get("/about").body == b"about"
    assert gateway.get("/missing").status == 410
    assert gateway.get("/sub/").status == 410, "no folder is tried"


def test_a_folder_without_slash_is_sent_to_it(serve):
    gateway = serve()
    response = gateway.get("/sub?a=1")
    assert (response.status, response.header("Location")) == (301, "/sub/?a=1")
    assert gateway.get("/plain/").status == 404, "no index, no listing"
    assert gateway.get("/ten.txt/").status == 404


def test_error_files_replace_the_body_alone(serve, root):
    gateway = serve(error_files={"404": "/404.html", "416": "/404.html", "405": "/absent.html"})
    response = gateway.get("/missing", headers={"Accept": "application/json"})
    assert (response.status, response.body) == (404, b"<h1>nothing here</h1>\n")
    assert response.header("Content-Type") == "text/html; charset=utf-8"
    assert response.header("ETag") is None and response.header("Last-Modified") is None
    assert gateway.request("HEAD", "/missing").header("Content-Length") == str(len(response.body))
    beyond = gateway.get("/ten.txt", headers={"Range": "bytes=50-"})
    assert (beyond.status, beyond.header("Content-Range")) == (416, "bytes */10") and beyond.body == response.body
    other = gateway.request("POST", "/ten.txt", body=b"")
    assert other.status == 405 and other.header("Allow") == "GET, HEAD", "a missing error file leaves the plain page"
    replace(root / "404.html", b"new")
    eventually(lambda: gateway.get("/missing").body == b"new")


# --- listings


def test_listing_shows_what_the_server_would_serve(serve, root):
    put(root, "plain/100% <b>&.txt", b"x" * 2048)
    put(root, "plain/.secret", b"x")
    os.mkfifo(root / "plain/fifo")
    os.symlink("a.txt", root / "plain/link.txt")
    os.symlink("/etc/passwd", root / "plain/out")
    os.symlink("nowhere", root / "plain/dangling")
    os.symlink("loop", root / "plain/loop")
    (root / "plain/folder").mkdir()
    gateway = serve(listing=True)
    page = gateway.get("/plain/", headers={"Accept": "text/html"})
    assert page.status == 200 and page.header("Content-Type") == "text/html; charset=utf-8"
    text = page.body.decode()
    assert "100%25%20%3Cb%3E%26.txt" in text and "100% &lt;b&gt;&amp;.txt" in text and "<b>" not in text
    for hidden in ("secret", "fifo", "passwd", "dangling", "loop", "out"):
        assert hidden not in text, hidden
    listed = gateway.get("/plain/", headers={"Accept": "application/json"})
    assert listed.header("Content-Type") == "application/json"
    names = [entry["name"] for entry in json.loads(listed.body)]
    assert names == ["folder", "100% <b>&.txt", "a.txt", "link.txt"], "folders first, then by name"
    for href in re.findall(r'href="([^"]+)"', text):
        if not href.startswith(".."):
            path = "/plain/" + href.removeprefix("./")
            assert gateway.get(path).status == 200, path
    assert gateway.get("/plain").header("Location") == "/plain/"
    assert gateway.get("/").body == b"<h1>home</h1>\n", "an index comes first"
    assert gateway.get("/nowhere/").status == 404
    assert gateway.get("/plain/../plain/.secret/").status == 404
    assert gateway.request("HEAD", "/plain/").status == 200


# --- encodings


def accepts(text):
    return {"Accept-Encoding": text}


def decoded(response):
    coding = response.header("Content-Encoding")
    if coding is None:
        return response.body
    assert coding == "gzip", coding
    return gzip.decompress(response.body)


def age(path, seconds):
    now = time.time()
    os.utime(path, (now - seconds, now - seconds))


def test_S06_S08_files_beside_are_sent_to_who_understands_them(serve, root):
    age(root / "app.js", 100)
    packed = gzip.compress(SCRIPT, 9)
    put(root, "app.js.gz", packed)
    put(root, "app.js.br", b"as if brotli")
    gateway = serve(precompressed=True, route={"compress": True})
    plain = gateway.get("/app.js")
    assert plain.body == SCRIPT and plain.header("Content-Encoding") is None and plain.header("Vary") == "Accept-Encoding"
    for method in ("GET", "HEAD"):
        response = gateway.request(method, "/app.js", headers=accepts("gzip"))
        assert response.header("Content-Length") == str(len(packed)) and response.header("Content-Encoding") == "gzip"
        assert response.header("Content-Type") == "text/javascript; charset=utf-8"
        assert response.header("Vary") == "Accept-Encoding" and response.header("ETag") != plain.header("ETag")
    assert response.status == 200
    assert gateway.get("/app.js", headers=accepts("gzip")).body == packed, "not compressed again"
    assert gateway.get("/app.js", headers=accepts("gzip;q=0.5, br")).body == b"as if brotli"
    assert gateway.get("/app.js", headers=accepts("gzip, br")).header("Content-Encoding") == "br"
    assert gateway.get("/app.js", headers=accepts("*;q=0")).header("Content-Encoding") is None
    etag = response.header("ETag")
    unchanged = gateway.get("/app.js", headers={**accepts("gzip"), "If-None-Match": etag})
    assert (unchanged.status, unchanged.header("ETag"), unchanged.header("Vary")) == (304, etag, "Accept-Encoding")
    assert gateway.get("/app.js", headers={"If-None-Match": etag}).status == 200, "another coding, another representation"
    part = gateway.get("/app.js", headers={**accepts("gzip"), "Range": "bytes=0-9", "If-Range": etag})
    assert (part.status, part.body, part.header("Content-Encoding")) == (206, packed[:10], "gzip")
    assert part.header("Vary") == "Accept-Encoding"


def test_an_older_file_beside_is_not_sent(serve, root):
    put(root, "app.js.gz", b"of a former app.js")
    age(root / "app.js.gz", 100)
    gateway = serve(precompressed=["gzip"])
    response = gateway.get("/app.js", headers=accepts("gzip"))
    assert response.body == SCRIPT and response.header("Content-Encoding") is None
    put(root, "app.js.gz", gzip.compress(SCRIPT))
    eventually(lambda: gateway.get("/app.js", headers=accepts("gzip")).header("Content-Encoding") == "gzip")
    replace(root / "app.js", b"changed" * 100)
    eventually(lambda: decoded(gateway.get("/app.js", headers=accepts("gzip"))) == b"changed" * 100)


@pytest.mark.parametrize("cache", ["memory", "file", "uncached"])
def test_files_are_compressed_for_who_understands_it(serve, root, cache):
    gateway = serve(cache=cache, route={"compress": ["gzip"]})
    for name, data in (("/text.txt", TEXT), ("/app.js", SCRIPT)):
        for _ in range(3):
            response = gateway.get(name, headers=accepts("gzip"))
            assert response.header("Content-Encoding") == "gzip" and decoded(response) == data
            assert len(response.body) < len(data) / 3 and response.header("Vary") == "Accept-Encoding"
        plain = gateway.get(name)
        assert plain.body == data and plain.header("Vary") == "Accept-Encoding"
        assert plain.header("ETag") != response.header("ETag")
    for name in ("/image.png", "/ten.txt"):
        assert gateway.get(name, headers=accepts("gzip")).header("Content-Encoding") is None, name
    assert gateway.get("/image.png").header("Vary") is None
    part = gateway.get("/text.txt", headers={**accepts("gzip"), "Range": "bytes=5-14"})
    assert (part.status, part.body, part.header("Content-Encoding")) == (206, TEXT[5:15], None)
    head = gateway.request("HEAD", "/text.txt", headers=accepts("gzip"))
    assert head.header("Content-Encoding") == "gzip" and head.body == b""


def test_a_hit_never_compresses_twice(serve, root):
    gateway = serve(route={"compress": ["gzip"]})
    count = lambda result: gateway.metrics().sum("pontage_cache_requests_total", result=result)
    first = gateway.get("/text.txt", headers=accepts("gzip"))
    eventually(lambda: count("miss") == 1)
    for _ in range(5):
        again = gateway.get("/text.txt", headers=accepts("gzip"))
        assert again.body == first.body and again.header("ETag") == first.header("ETag")
    eventually(lambda: count("hit") == 5)
    assert count("miss") == 1
    replace(root / "text.txt", TEXT + TEXT)
    eventually(lambda: decoded(gateway.get("/text.txt", headers=accepts("gzip"))) == TEXT + TEXT)


def test_large_files_are_compressed_while_sent(serve, root):
    put(root, "large.txt", TEXT * 20)
    gateway = serve(route={"compress": ["gzip"]}, limits={"max_file": "64KiB"})
    response = gateway.get("/large.txt", headers=accepts("gzip"))
    assert decoded(response) == TEXT * 20 and response.header("Content-Length") is None
    assert response.header("ETag").startswith("W/") and response.header("Accept-Ranges") is None


def test_proxied_answers_are_compressed_and_streams_not_held(start, origin):
    gateway = start({"backends": {"app": {"servers": [f"http://{origin.http}"]}},
                     "routes": [{"proxy": "app", "compress": {"codings": ["gzip"], "types": ["text/*", "application/octet-stream"]}}]})
    plain = gateway.get("/bytes/50000")
    packed = gateway.get("/bytes/50000", headers=accepts("gzip"))
    assert packed.header("Content-Encoding") == "gzip" and decoded(packed) == plain.body
    assert "Accept-Encoding" in packed.header("Vary") and "Accept-Encoding" in plain.header("Vary")
    small = gateway.get("/bytes/10", headers=accepts("gzip"))
    assert small.header("Content-Encoding") is None and small.header("Content-Length") == "10"


# --- what is said of files


def test_cache_rules_types_and_charset(serve, root):
    put(root, "assets/app.1a2b.js", b"x")
    put(root, "data.foo", b"x")
    gateway = serve(types={"foo": "text/x-foo", ".png": "image/x-mine"}, charset="iso-8859-1", cache_control=[
        {"path": "/assets/*", "max_age": "365d", "immutable": True, "value": "public"},
        {"type": "image/*", "max_age": "1h", "expires": True},
        {"path": "*.css", "value": "no-store"},
        "no-cache"])
    said = lambda path: gateway.get(path).header("Cache-Control")
    assert said("/assets/app.1a2b.js") == "public, max-age=31536000, immutable"
    assert said("/style.css") == "no-store" and said("/") == "no-cache" and said("/app.js") == "no-cache"
    image = gateway.get("/image.png")
    assert image.header("Cache-Control") == "max-age=3600" and image.header("Content-Type") == "image/x-mine"
    ahead = email.utils.parsedate_to_datetime(image.header("Expires")) - email.utils.parsedate_to_datetime(image.header("Date"))
    assert 3590 <= ahead.total_seconds() <= 3610
    assert gateway.get("/data.foo").header("Content-Type") == "text/x-foo; charset=iso-8859-1"
    unchanged = gateway.get("/style.css", headers={"If-None-Match": gateway.get("/style.css").header("ETag")})
    assert (unchanged.status, unchanged.header("Cache-Control")) == (304, "no-store")
    assert said("/missing") is None


def test_charset_can_be_left_out(serve):
    assert serve(charset="off").get("/ten.txt").header("Content-Type") == "text/plain"


# --- ranges


def parts_of(response):
    boundary = re.fullmatch(r"multipart/byteranges; boundary=(\S+)", response.header("Content-Type"))[1].strip('"').encode()
    pieces = response.body.split(b"--" + boundary)
    assert pieces[-1].strip() == b"--", pieces[-1]
    out = []
    for piece in pieces[1:-1]:
        head, body = piece.split(b"\r\n\r\n", 1)
        fields = dict(line.split(b": ", 1) for line in head.strip().split(b"\r\n"))
        assert body.endswith(b"\r\n")
        out.append(({k.decode().lower(): v.decode() for k, v in fields.items()}, body[:-2]))
    return out


@pytest.mark.parametrize("cache", ["memory", "file", "uncached"])
def test_several_ranges_come_in_parts(serve, root, cache):
    gateway = serve(cache=cache)
    response = gateway.get("/text.txt", headers={"Range": "bytes=0-9,1000-1009,-5"})
    assert response.status == 206 and response.header("Content-Range") is None
    assert response.header("Content-Length") == str(len(response.body))
    parts = parts_of(response)
    assert [p[1] for p in parts] == [TEXT[:10], TEXT[1000:1010], TEXT[-5:]]
    assert [p[0]["content-range"] for p in parts] == [
        f"bytes 0-9/{len(TEXT)}", f"bytes 1000-1009/{len(TEXT)}", f"bytes {len(TEXT) - 5}-{len(TEXT) - 1}/{len(TEXT)}"]
    assert all(p[0]["content-type"] == "text/plain; charset=utf-8" for p in parts)


def test_ranges_that_touch_become_one(serve):
    gateway = serve()
    response = gateway.get("/text.txt", headers={"Range": "bytes=0-99,50-149,150-199"})
    assert (response.status, response.header("Content-Range")) == (206, f"bytes 0-199/{len(TEXT)}")
    assert response.body == TEXT[:200]
    assert gateway.get("/ten.txt", headers={"Range": "bytes=20-30,50-60"}).status == 416
    one = gateway.get("/ten.txt", headers={"Range": "bytes=20-30,2-3"})
    assert (one.status, one.body) == (206, b"23")


def test_too_many_ranges_are_ignored(serve):
    gateway = serve(max_ranges=2)
    value = lambda n: "bytes=" + ",".join(f"{i * 1000}-{i * 1000 + 1}" for i in range(n))
    assert len(parts_of(gateway.get("/text.txt", headers={"Range": value(2)}))) == 2
    whole = gateway.get("/text.txt", headers={"Range": value(3)})
    assert whole.status == 200 and whole.body == TEXT
    assert serve(max_ranges=0).get("/text.txt", headers={"Range": "bytes=0-1"}).status == 200


# --- files that change


def versions(size):
    return [bytes([65 + i]) * size for i in range(4)]


@pytest.mark.parametrize("size", [100, 50_000, 2_000_000])
def test_a_replaced_file_is_seen_and_never_mixed(serve, root, size):
    gateway = serve()
    path = put(root, "file.bin", versions(size)[0])
    stop = threading.Event()
    wrong = []

    def look():
        with gateway.connect() as client:
            while not stop.is_set():
                response = client.request("GET", "/file.bin")
                if response.status != 200 or len(set(response.body)) != 1 or len(response.body) != size:
                    wrong.append((response.status, len(response.body), set(response.body)))

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for version in (versions(size) * amount(3))[1:]:
            replace(path, version)
            eventually(lambda: gateway.get("/file.bin").body == version, "the new version")
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []


def test_changes_are_seen_at_once(serve, root):
    """By notification, long before the window in which a name is trusted has passed."""
    gateway = serve(limits={"recheck": "1h"})
    see = lambda path, status, body=None: eventually(
        lambda: (r := gateway.get(path)).status == status and (body is None or r.body == body), f"{path} {status} {body}")
    gateway.get("/file.txt")
    path = put(root, "file.txt", b"created")
    see("/file.txt", 200, b"created")
    replace(path, b"renamed")
    see("/file.txt", 200, b"renamed")
    path.write_bytes(b"in place")
    see("/file.txt", 200, b"in place")
    with open(path, "ab") as file:
        file.write(b" and more")
    see("/file.txt", 200, b"in place and more")
    os.truncate(path, 2)
    see("/file.txt", 200, b"in")
    path.unlink()
    see("/file.txt", 404)
    os.rename(root / "sub", root / "moved")
    see("/sub/index.html", 404)
    see("/moved/index.html", 200, b"<h1>sub</h1>\n")


def test_a_switched_link_is_seen(start, tmp_path):
    for number in (41, 42):
        put(tmp_path, f"releases/{number}/a/page.txt", b"%d" % number)
    os.symlink("releases/41", tmp_path / "current")
    gateway = start({"static_cache": {"recheck": "1h"}, "routes": [{"files": str(tmp_path / "current")}]})
    assert gateway.get("/a/page.txt").body == b"41"
    os.symlink("releases/42", tmp_path / "next")
    os.replace(tmp_path / "next", tmp_path / "current")
    eventually(lambda: gateway.get("/a/page.txt").body == b"42", "the new release")


def test_a_body_under_way_is_the_old_file_or_cut(serve, root):
    size = 8 << 20
    gateway = serve()
    path = put(root, "big.bin", b"A" * size)
    with gateway.connect(receive_buffer=65536) as client:
        client.send("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        client.read_head()
        replace(path, b"B" * size)
        body = client.read_exactly(size)
        assert set(body) == {65}, "the descriptor is the old file's"
    eventually(lambda: gateway.get("/big.bin").body[:1] == b"B")
    with gateway.connect(receive_buffer=65536) as client:
        client.send("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        response = client.read_head()
        with open(path, "r+b") as file:
            file.write(b"C" * size)
        body = client.read_exactly(size, response)
        assert response.truncated or set(body) == {66}, "a blend was sent as if it were whole"


# --- modes, memory, descriptors


def test_a_file_opened_each_time_is_always_the_one_of_now(serve, root):
    gateway = serve(cache="uncached")
    for i in range(amount(20)):
        replace(root / "ten.txt", b"%d" % i)
        assert gateway.get("/ten.txt").body == b"%d" % i


def test_descriptors_are_kept_within_bounds(serve, root):
    for i in range(400):
        put(root, f"many/{i}.bin", b"x" * 20_000)
    gateway = serve(limits={"memory": "1MiB"})
    with gateway.connect() as client:
        for i in range(400):
            assert len(client.request("GET", f"/many/{i}.bin").body) == 20_000
    assert gateway.descriptors() < 250


def test_slow_readers_cost_no_memory(serve, root):
    with open(root / "huge.bin", "wb") as file:
        file.truncate(5 << 30)
    gateway = serve()

    def resident():
        with open(f"/proc/{gateway.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1])

    gateway.get("/ten.txt")
    before = resident()
    clients = []
    for _ in range(amount(100)):
        client = gateway.connect(receive_buffer=4096)
        client.send("GET /huge.bin HTTP/1.1\r\nHost: a\r\n\r\n")
        clients.append(client)
    for client in clients:
        assert client.read_head().header("Content-Length") == str(5 << 30)
    assert resident() - before < 8 * 1024 * (8 if "asan" in str(os.environ.get("PONTAGE_BIN")) else 1), "kB"
    for client in clients:
        client.close()
    eventually(lambda: gateway.metrics().sum("pontage_requests_in_flight") == 0)


# --- names


@pytest.mark.parametrize("name", ["a b.txt", "100%.txt", "ä ö.txt", "semi;colon.txt", "dot.", "..x", "x..", "q?.txt", "h#.txt", "plus+.txt",
                                  "quote'\".txt", "back\\slash.txt"])
def test_odd_names_are_found_by_their_encoding(serve, root, name):
    if name.startswith(".") or "\\" in name:
        expected = 404 if name.startswith(".") else 400
    else:
        expected = 200
    put(root, name, name.encode())
    gateway = serve()
    encoded = "".join(f"%{b:02X}" for b in name.encode())
    response = gateway.get("/" + encoded)
    assert response.status == expected, response
    if expected == 200:
        assert response.body == name.encode()


@pytest.mark.parametrize("path, statuses", [
    ("/..", (400, 404, 200)), ("/../etc/passwd", (400, 404)), ("/%2e%2e/etc/passwd", (400, 404)), ("/..%2fetc/passwd", (400, 404)),
    ("/%2e%2e%2fetc/passwd", (400, 404)), ("/sub/..%5c..%5cetc/passwd", (400,)), ("/a%00.txt", (400,)), ("/ten.txt%00.html", (400,)),
    ("/..;/..;x/etc/passwd", (400, 404)), ("/....//etc/passwd", (404,)), ("/ten.txt/x", (404,)), ("/ten.txt/", (404,)),
    ("/" + "x" * 300, (404,)), ("/%c0%ae%c0%ae/etc/passwd", (400, 404)), ("/%zz", (400,))])
def test_nothing_outside_is_reached(serve, path, statuses):
    response = serve().get(path)
    assert response.status in statuses and b"root:" not in response.body


def test_special_files_do_not_hang(serve, root):
    os.mkfifo(root / "fifo")
    os.symlink("nowhere", root / "dangling")
    os.symlink("loop", root / "loop")
    os.symlink("/etc", root / "out")
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(root / "socket"))
    gateway = serve()
    with gateway.connect() as client:
        for name in ("fifo", "dangling", "loop", "out/passwd", "out", "socket"):
            assert client.request("GET", "/" + name).status == 404, name
        assert client.request("GET", "/ten.txt").body == b"0123456789"
    sock.close()
    before = gateway.file_descriptors()
    for _ in range(5):
        gateway.get("/fifo"), gateway.get("/loop")
    assert gateway.file_descriptors() <= before
