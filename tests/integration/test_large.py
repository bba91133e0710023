"""Bodies past 4 GiB, where 32-bit lengths would begin anew: through every adapter with --long, through one each way otherwise."""
import pytest

from harness import ADAPTERS, LONG, SANITIZED, backend_to

SIZE = (1 << 32) + 7

pytestmark = pytest.mark.skipif(SANITIZED, reason="4 GiB through a sanitizer take minutes; lengths are the same in every build")


@pytest.fixture(scope="module")
def front(tmp_path_factory, origin):
    from harness import Gateway
    process = Gateway(tmp_path_factory.mktemp("large"), {
        "workers": 1, "limits": {"body": "8GiB"}, "spool": {"folder": "/var/tmp"},
        "backends": {name: backend_to(origin, name, request_buffering="off") for name in ADAPTERS},
        "routes": [{"path": f"/{name}/*", "proxy": name} for name in ADAPTERS]})
    yield process
    process.stop()


@pytest.mark.parametrize("adapter", ADAPTERS if LONG else ["ajp"])
def test_a_download_past_4_GiB_is_whole(front, adapter):
    with front.connect() as client:
        client.send(f"GET /{adapter}/bytes/{SIZE} HTTP/1.1\r\nHost: a\r\n\r\n")
        response = client.read_head()
        assert response.header("content-length") == str(SIZE)
        left, room = SIZE - len(client.pending), bytearray(1 << 20)
        client.pending = b""
        while left > 0:
            got = client.socket.recv_into(room, min(left, len(room)))
            assert got, f"{left} bytes are missing"
            left -= got
        assert client.request("GET", f"/{adapter}/bytes/10").body == front.get(f"/{adapter}/bytes/10").body


@pytest.mark.parametrize("adapter", ADAPTERS if LONG else ["http"])
def test_an_upload_past_4_GiB_is_whole(front, adapter):
    piece = bytes(1 << 20)
    with front.connect() as client:
        client.send(f"PUT /{adapter}/upload HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n")
        left = SIZE
        while left > 0:
            left -= client.socket.send(piece[:min(left, len(piece))])
        client.socket.settimeout(60)
        answer = client.read_response()
        assert answer.json()["bytes"] == SIZE
        assert client.request("GET", f"/{adapter}/bytes/10").status == 200
