"""CASES.md, S: static files."""
import os
import re
import urllib.parse

import pytest

from harness import eventually

pytestmark = pytest.mark.smoke


def ranged(gateway, path, value, **headers):
    return gateway.get(path, headers={"Range": value, **headers})


def no_nonsense(response):
    text = response.header("Content-Range") or ""
    assert "--" not in text and "18446744073709551615" not in text, text


def test_S01_ranges_of_an_empty_file(gateway):
    suffix = ranged(gateway, "/empty.txt", "bytes=-5")
    assert suffix.status == 200 and suffix.header("Content-Length") == "0"
    first = ranged(gateway, "/empty.txt", "bytes=0-")
    no_nonsense(first)
    assert (first.status, first.header("Content-Range")) == (416, "bytes */0") or first.status == 200


def test_S01_an_empty_suffix_is_not_satisfiable(gateway):
    response = ranged(gateway, "/ten.txt", "bytes=-0")
    no_nonsense(response)
    assert (response.status, response.header("Content-Range")) == (416, "bytes */10") or response.status == 200


@pytest.mark.parametrize("value, status, content_range", [
    ("bytes=-500", 206, "bytes 0-49/50"), ("bytes=0-99999999999999999999", 206, "bytes 0-49/50"), ("bytes=49-", 206, "bytes 49-49/50"),
    ("bytes=50-", 416, "bytes */50"), ("bytes=5-2", 200, None), ("bytes=0-0", 206, "bytes 0-0/50"), ("bytes=-1", 206, "bytes 49-49/50"),
    ("bytes=10-19", 206, "bytes 10-19/50"), ("lines=1-2", 200, None), ("bytes=", 200, None), ("bytes=a-b", 200, None), ("bytes=-", 200, None)])
def test_S02_ranges_at_the_edges(gateway, value, status, content_range):
    response = ranged(gateway, "/fifty.txt", value)
    assert (response.status, response.header("Content-Range")) == (status, content_range)
    whole = bytes(range(65, 115))
    if status == 206:
        first, last = map(int, re.match(r"bytes (\d+)-(\d+)/", content_range).groups())
        assert response.body == whole[first:last + 1]
    elif status == 200:
        assert response.body == whole


def test_S02_a_space_in_a_range_is_ignored_or_tolerated(gateway):
    response = ranged(gateway, "/fifty.txt", "bytes= 0-1")
    assert (response.status == 200 and len(response.body) == 50) or (response.status == 206 and response.body == b"AB")


@pytest.mark.parametrize("path, size", [("/3m.bin", 3 << 20), ("/100k.bin", 100 * 1024)])
def test_S02_ranges_of_large_files(gateway, path, size):
    whole = gateway.get(path).body
    assert len(whole) == size
    for first, last in ((0, 0), (1, 70_000), (size - 1, size - 1), (65_535, 65_536)):
        response = ranged(gateway, path, f"bytes={first}-{last}")
        assert response.status == 206 and response.body == whole[first:last + 1]


def test_S02_many_ranges_are_bounded(gateway):
    response = ranged(gateway, "/3k.bin", "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 1500)))
    assert response.status in (200, 206, 416)
    assert len(response.body) < 400_000


def test_S04_if_match_compares_strongly(gateway):
    etag = gateway.get("/ten.txt").header("ETag")
    assert etag and not etag.startswith("W/")
    assert gateway.get("/ten.txt", headers={"If-Match": etag}).status == 200
    assert gateway.get("/ten.txt", headers={"If-Match": "W/" + etag}).status == 412
    assert gateway.get("/ten.txt", headers={"If-Match": '"zz"'}).status == 412
    assert gateway.get("/ten.txt", headers={"If-Match": "*"}).status == 200


def test_S04_if_none_match_and_if_range(gateway):
    answer = gateway.get("/ten.txt")
    etag, modified = answer.header("ETag"), answer.header("Last-Modified")
    for value in (etag, "W/" + etag, f'"x", {etag}', "*"):
        response = gateway.get("/ten.txt", headers={"If-None-Match": value})
        assert response.status == 304 and response.header("ETag") == etag and response.body == b""
    assert gateway.get("/ten.txt", headers={"If-Modified-Since": modified}).status == 304
    assert gateway.get("/ten.txt", headers={"If-Modified-Since": modified, "If-None-Match": '"x"'}).status == 200
    assert gateway.get("/ten.txt", headers={"If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"}).status == 412
    assert gateway.get("/ten.txt", headers={"Range": "bytes=0-1", "If-Range": etag}).status == 206
    assert gateway.get("/ten.txt", headers={"Range": "bytes=0-1", "If-Range": '"old"'}).status == 200


@pytest.mark.parametrize("path, body", [("/100%25.txt", b"percent"), ("/a%20b", b"space"), ("/x%20%7By%7D.txt", b"braces"),
                                        ("/" + urllib.parse.quote("åäö.txt"), b"umlauts")])
def test_S10_escaped_names_are_found(gateway, path, body):
    response = gateway.get(path)
    assert response.status == 200 and response.body == body


@pytest.mark.parametrize("path", ["/%zz", "/%", "/a%2", "/%u0041"])
def test_S10_broken_escapes_are_refused(gateway, path):
    assert gateway.get(path).status == 400


def links(folder):
    root = folder / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner/file.txt").write_text("inside")
    (folder / "outside.txt").write_text("outside")
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("../outside.txt")
    (root / "out-absolute").symlink_to(folder / "outside.txt")
    (root / "beneath").symlink_to("inner/file.txt")
    (root / "folder").symlink_to("inner")
    return str(root)


@pytest.mark.parametrize("policy, found", [("beneath", {"beneath"}), ("follow", {"beneath", "out", "out-absolute"}), ("none", set())])
def test_S11_symbolic_links_obey_the_policy(start, tmp_path, policy, found):
    gateway = start({"routes": [{"files": {"root": links(tmp_path), "symlinks": policy}}]})
    for name in ("dangling", "loop", "out", "out-absolute", "beneath"):
        response = gateway.get("/" + name)
        if name in found:
            assert response.status == 200, name
        else:
            assert response.status in (403, 404) and b"outside" not in response.body, name
    assert gateway.get("/inner/file.txt").status == 200
    assert gateway.get("/folder/file.txt").status == (200 if policy != "none" else 404) or policy == "none"


def test_S11_links_do_not_fool_the_cache(start, tmp_path):
    gateway = start({"static_cache": {"recheck": "0s"}, "routes": [{"files": links(tmp_path)}]})
    inner = tmp_path / "root/inner/file.txt"
    assert gateway.get("/inner/file.txt").body == b"inside"
    inner.unlink()
    inner.symlink_to(tmp_path / "outside.txt")
    assert gateway.get("/inner/file.txt").status in (403, 404)


def test_S13_a_file_from_1970_has_no_last_modified(start, tmp_path):
    file = tmp_path / "root/old.txt"
    file.parent.mkdir()
    file.write_text("one")
    os.utime(file, (0, 0))
    gateway = start({"static_cache": {"recheck": "0s"}, "routes": [{"files": str(file.parent)}]})
    first = gateway.get("/old.txt")
    assert first.status == 200 and first.header("Last-Modified") is None
    new = tmp_path / "new"
    new.write_text("two")
    os.utime(new, (0, 0))
    new.rename(file)
    second = gateway.get("/old.txt", headers={"If-None-Match": first.header("ETag")})
    assert second.status == 200 and second.body == b"two"


def test_a_changed_file_is_seen(start, tmp_path):
    file = tmp_path / "root/a.txt"
    file.parent.mkdir()
    file.write_text("one")
    gateway = start({"static_cache": {"recheck": "10ms"}, "routes": [{"files": str(file.parent)}]})
    assert gateway.get("/a.txt").body == b"one"
    new = tmp_path / "new"
    new.write_text("another")
    new.rename(file)
    eventually(lambda: gateway.get("/a.txt").body == b"another", "the new file")
    file.unlink()
    eventually(lambda: gateway.get("/a.txt").status == 404, "the file's end")


def test_a_folder_redirects_to_its_slash_and_serves_its_index(gateway):
    response = gateway.get("/sub?x=1")
    assert response.status in (301, 302, 307, 308) and response.header("Location") == "/sub/?x=1"
    assert gateway.get("/sub/").body == b"<h1>sub</h1>\n"
    assert gateway.get("/").header("Content-Type").startswith("text/html")


@pytest.mark.parametrize("name, size", [("3k.bin", 3072), ("100k.bin", 102_400), ("3m.bin", 3 << 20)])
def test_files_arrive_byte_exact_and_twice(gateway, site, name, size):
    with gateway.connect() as client:
        for _ in range(3):
            body = client.request("GET", "/" + name).body
            assert len(body) == size and body == (site / name).read_bytes()


@pytest.mark.parametrize("path", ["/../secret", "/%2e%2e/secret", "/sub/../../secret", "/..%2fsecret", "/sub/..;/..;/secret", "/.%00./secret"])
def test_nothing_above_the_root_is_served(start, tmp_path, path):
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("top secret")
    gateway = start({"routes": [{"files": str(tmp_path / "root")}]})
    response = gateway.get(path)
    assert response.status in (400, 403, 404) and b"top secret" not in response.body


def test_sockets_pipes_and_folders_are_not_files(start, tmp_path):
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    os.mkfifo(root / "pipe")
    gateway = start({"routes": [{"files": str(root)}]})
    assert gateway.get("/pipe").status in (403, 404)  # and does not hang
    assert gateway.get("/folder/").status in (403, 404)
