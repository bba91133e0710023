"""Bodies of every size and framing arrive byte-exact through every adapter, both ways."""
import functools
import random

import pytest

from harness import ADAPTERS

# Around the edges of AJP's packets (8192 - 6), buffers, and then some.
SIZES = [0, 1, 8183, 8184, 8185, 8186, 8187, 16372, 65536, 1 << 20]


def pattern(size):
    return random.Random(size).randbytes(size)


@functools.cache
def fnv(data):
    """FNV-1a, 64 bits, as the origin's /upload computes it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def same_sum(told, data):
    value = fnv(data)
    return str(told).lower().removeprefix("0x") in (f"{value:016x}", f"{value:x}", str(value))


@pytest.mark.smoke
@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", SIZES)
def test_echo_returns_the_body(gateway, adapter, framing, size):
    body = pattern(size)
    with gateway.connect() as client:
        for _ in range(2):  # the second one shows that the first left nothing behind
            answer = client.request("POST", f"/{adapter}/echo", body=body, chunked=framing == "chunked")
            assert answer.status == 200 and not answer.truncated
            assert answer.body == body


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", SIZES)
def test_upload_is_read_whole(gateway, adapter, framing, size):
    body = pattern(size)
    told = gateway.request("PUT", f"/{adapter}/upload", body=body, chunked=framing == "chunked").json()
    assert told["bytes"] == size
    assert same_sum(told["fnv"], body)


@pytest.mark.smoke
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_get_without_a_body_reaches_the_server_without_one(gateway, adapter):
    with gateway.connect() as client:
        for _ in range(3):
            assert client.request("GET", f"/{adapter}/echo").body == b""


@pytest.mark.smoke
@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("size", SIZES + [10 << 20])
@pytest.mark.parametrize("options", ["", "?chunked=1"])
def test_download_is_complete(gateway, adapter, size, options):
    with gateway.connect() as client:
        first = client.request("GET", f"/{adapter}/bytes/{size}{options}")
        assert first.status == 200 and not first.truncated and len(first.body) == size
        assert client.request("GET", f"/{adapter}/status/200").status == 200


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_all_adapters_deliver_the_same_bytes(gateway, adapter):
    assert gateway.get(f"/{adapter}/bytes/100000").body == gateway.get("/http/bytes/100000").body


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_content_length_of_the_server_is_kept(gateway, adapter):
    assert gateway.get(f"/{adapter}/bytes/5000").header("Content-Length") == "5000"
    assert gateway.request("HEAD", f"/{adapter}/bytes/5000").header("Content-Length") == "5000"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_chunked_body_may_come_in_single_bytes(gateway, adapter):
    body = pattern(300)
    with gateway.connect() as client:
        client.send(f"POST /{adapter}/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(len(body)):
            client.send(b"1\r\n" + body[i:i + 1] + b"\r\n")
        client.send("0\r\n\r\n")
        assert client.read_response().body == body


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_lines_of_a_stream_arrive_one_by_one(gateway, adapter):
    with gateway.connect() as client:
        client.send(f"GET /{adapter}/stream?n=3&ms=400 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.read_head()
        first, client.pending = client.pending or client.socket.recv(65536), b""
        # The whole answer takes 800 ms and more; the first line must not wait for the last.
        assert client.silent(0.05), first
        assert client.socket.recv(65536)


def test_an_upload_larger_than_the_limit_is_refused(start, origin):
    gateway = start({"limits": {"body": "1MiB"}, "backends": {"app": {"servers": [f"http://{origin.http}"]}},
                     "routes": [{"path": "/small/*", "limits": {"body": "1KiB"}, "proxy": "app"}, {"proxy": "app"}]})
    for path, size in (("/upload", 1 << 20), ("/small/upload", 1024)):
        assert gateway.request("POST", path, body=b"x" * size).status == 200
        for chunked in (False, True):
            assert gateway.request("POST", path, body=b"x" * (size + 1), chunked=chunked).status == 413
    gateway.counts(4, "pontage_limit_hits_total", limit="body")


def test_a_large_upload_does_not_grow_the_gateway(gateway, origin):
    def resident():
        with open(f"/proc/{gateway.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    gateway.request("POST", "/http/upload", body=bytes(1 << 20))
    before = resident()
    body = bytes(64 << 20)
    told = gateway.request("POST", "/http/upload", body=body).json()
    assert told["bytes"] == len(body)
    assert resident() - before < 32 * 1024
