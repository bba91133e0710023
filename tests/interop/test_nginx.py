"""nginx as the application server: reuse, big bodies, early refusals, conditional requests, compression."""
import pytest

from harness import proxy_to


@pytest.fixture
def front(start, nginx):
    return start({**proxy_to(f"http://127.0.0.1:{nginx.port}"), "workers": 1})


def test_a_connection_is_used_again_and_again(front):
    seen = [front.get("/connection").body.decode().split() for _ in range(50)]
    assert len({s[0] for s in seen}) == 1
    assert [int(s[1]) for s in seen] == list(range(1, 51))
    assert seen[0][2] == "test.example" and seen[0][3] == "127.0.0.1"


def test_connections_that_nginx_ends_are_replaced(front):
    """keepalive_requests 3: every third answer says Connection: close."""
    for _ in range(30):
        response = front.get("/brief/3k.txt")
        assert response.status == 200 and len(response.body) == 3070
    assert front.metrics().sum("pontage_backend_server_errors_total") == 0


@pytest.mark.parametrize("name", ["small.txt", "3k.txt", "1m.bin", "40m.bin"])
def test_files_arrive_byte_exact(front, nginx, name):
    assert front.get("/" + name).body == (nginx.folder / "www" / name).read_bytes()


def test_head_and_204_leave_the_connection_usable(front):
    with front.connect() as client:
        for _ in range(3):
            assert client.request("HEAD", "/1m.bin").header("Content-Length") == str(1 << 20)
            assert client.request("GET", "/empty").status == 204
            assert client.request("GET", "/small.txt").status == 200
    assert front.metrics().sum("pontage_backend_connection_reuse_total", result="fresh") == 1


def test_conditional_requests_and_ranges_pass(front):
    first = front.get("/1m.bin")
    again = front.get("/1m.bin", headers={"If-None-Match": first.header("ETag")})
    assert again.status == 304 and again.header("ETag") == first.header("ETag")
    part = front.get("/1m.bin", headers={"Range": "bytes=1000-1999"})
    assert part.status == 206 and part.header("Content-Range") == f"bytes 1000-1999/{1 << 20}" and part.body == first.body[1000:2000]


def test_uploads_of_any_framing_pass(front):
    for size in (0, 1, 100_000, 20 << 20):
        for chunked in (False, True):
            assert front.request("POST", "/discard", body=bytes(size), chunked=chunked).body == b"discarded"


def test_an_early_413_passes(front):
    for _ in range(3):
        assert front.request("POST", "/limited", body=bytes(28_000_000)).status == 413
        assert front.get("/small.txt").status == 200


def test_compressed_chunked_answers_pass(front, nginx):
    import gzip
    response = front.get("/gzip/3k.txt", headers={"Accept-Encoding": "gzip"})
    assert response.header("Content-Encoding") == "gzip"
    assert gzip.decompress(response.body) == (nginx.folder / "www/3k.txt").read_bytes()
