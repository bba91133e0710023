"""CASES.md, P: requests that broke other products' parsing, routing or forwarding."""
import re

import pytest

from fakes import FakeServer, ok
from harness import exchange_raw, proxy_to

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def behind():
    """A server that notes what reaches it."""
    def script(connection):
        while True:
            server.note(connection.read_request())
            connection.send(ok(b"fine"))
    with FakeServer(script) as server:
        yield server


@pytest.fixture(scope="module")
def front(tmp_path_factory, behind):
    from harness import Gateway
    process = Gateway(tmp_path_factory.mktemp("front"), proxy_to(behind.url))
    yield process
    process.stop()


@pytest.fixture(autouse=True)
def forget(behind):
    behind.requests.clear()


def assert_refused(front, behind, data, statuses=(400,)):
    response, closed = exchange_raw(front, data)
    assert response.status in statuses and closed, (data, response)
    # A body may have been on its way when it turned out to be wrong; a request must not have been.
    assert behind.requests == [], data
    return response


def post(*lines, body=""):
    return "POST / HTTP/1.1\r\nHost: a\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n" + body


def test_P01_lf_alone_never_ends_a_chunk_size_line(front, behind):
    assert_refused(front, behind, post("Transfer-Encoding: chunked", body="1\nZ\r\n0\r\n\r\n"))


@pytest.mark.parametrize("body", ["1\r\nZ\n0\r\n\r\n", "1\r\nZ0\r\n\r\n", "1;a\nb\r\nZ\r\n0\r\n\r\n", "-1\r\nZ\r\n0\r\n\r\n", "0x1\r\nZ\r\n0\r\n\r\n",
                                  " 1\r\nZ\r\n0\r\n\r\n", "\r\nZ\r\n0\r\n\r\n", "10000000000000000\r\nZ\r\n0\r\n\r\n", "1\rZ\r\n0\r\n\r\n",
                                  "1\r\nZ\r\n0\n\r\n", "g\r\nZ\r\n0\r\n\r\n", "1\0\r\nZ\r\n0\r\n\r\n"])
def test_P01_every_other_wrong_chunk_is_refused_too(front, behind, body):
    assert_refused(front, behind, post("Transfer-Encoding: chunked", body=body))


@pytest.mark.parametrize("lines", [["Content-Length: ", "Content-Length: 5"], ["Content-Length: "], ["Content-Length:"],
                                   ["Content-Length: +5"], ["Content-Length: -5"], ["Content-Length: 5a"], ["Content-Length: 0x5"],
                                   ["Content-Length: 99999999999999999999"], ["Content-Length: 5 5"], ["Content-Length: ,5"]])
def test_P03_a_length_that_is_no_number_is_refused(front, behind, lines):
    assert_refused(front, behind, post(*lines, body="abcde"))


def test_P04_differing_lengths_are_refused(front, behind):
    assert_refused(front, behind, post("Content-Length: 0", "Content-Length: 38", body="GET /evil HTTP/1.1\r\nHost: a\r\nX: yyy\r\n\r\n"))
    assert_refused(front, behind, post("Content-Length: 5, 6", body="abcdef"))


@pytest.mark.parametrize("lines", [["Content-Length: 5", "Content-Length: 5"], ["Content-Length: 5, 5"]])
def test_P04_equal_lengths_never_go_on_as_two(front, behind, lines):
    response, closed = exchange_raw(front, post(*lines, "Connection: close", body="abcde"))
    assert closed
    if response.status == 400:
        assert behind.requests == []
    else:
        assert response.status == 200 and behind.requests[0].all("Content-Length") == ["5"]
        assert behind.requests[0].body == b"abcde"


@pytest.mark.parametrize("lines", [["Transfer-Encoding: blegh"], ["Transfer-Encoding: gzip, chunked"], ["Transfer-Encoding: chunked, gzip"],
                                   ["Transfer-Encoding: chunked, chunked"], ["Transfer-Encoding: \x0bchunked"],
                                   ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
                                   ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], ["Transfer-Encoding: identity"],
                                   ["Transfer-Encoding: "], ["Transfer-Encoding: \"chunked\""], ["Transfer-Encoding: chunked;q=1"]])
def test_P06_unknown_transfer_codings_are_refused(front, behind, lines):
    assert_refused(front, behind, post(*lines, body="5\r\nabcde\r\n0\r\n\r\n"), (400, 501))


def test_P06_white_space_around_chunked_is_fine(front, behind):
    response, _ = exchange_raw(front, post("Transfer-Encoding: chunked \t", "Connection: close", body="5\r\nabcde\r\n0\r\n\r\n"))
    assert response.status == 200 and behind.requests[0].body == b"abcde"


def test_P06_chunked_in_http_1_0_is_refused(front, behind):
    assert_refused(front, behind, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")


def test_P07_length_and_chunked_together_smuggle_nothing(front, behind):
    inner = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"[:32].ljust(32, "x")
    response, closed = exchange_raw(front, post("Content-Length: 0", "Transfer-Encoding: chunked", body=f"20\r\n{inner}\r\n0\r\n\r\n"))
    assert closed
    if response.status == 400:
        assert behind.requests == []
    else:
        assert len(behind.requests) == 1 and behind.requests[0].all("Content-Length") == [] and behind.requests[0].body == inner.encode()


def test_P09_bare_lf_line_ends_never_reach_a_server(front, behind):
    response, _ = exchange_raw(front, "GET / HTTP/1.1\nHost: a\n\n")
    if response.status == 400:
        assert behind.requests == []
    else:
        assert response.status == 200 and re.sub(rb"\r\n", b"", behind.requests[0].raw).count(b"\n") == 0


def test_P10_a_bare_cr_never_ends_a_line(front, behind):
    evil = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"
    assert_refused(front, behind, f"POST / HTTP/1.1\r\nHost: a\rX\nContent-Length: {len(evil)}\r\n\r\n{evil}")
    assert_refused(front, behind, "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n")
    assert_refused(front, behind, "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n")


def test_P12_white_space_before_the_colon_is_refused(front, behind):
    assert_refused(front, behind, post("Content-Length : 5", body="abcde"))
    assert_refused(front, behind, post("X\t: 5"))


def test_P12_white_space_before_the_colon_of_a_response_is_removed_or_502(start):
    with FakeServer(lambda c: (c.read_request(), c.send("HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length: 2\r\n\r\nok"))) as server:
        response = start(proxy_to(server.url)).get("/")
        assert response.status == 502 or (response.status == 200 and response.header("X-A") == "1")


@pytest.mark.parametrize("head", ["GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n",
                                  "GET / HTTP/1.1\r\nHost: a\r\n \t\r\nX: a\r\n\r\n"])
def test_P13_folded_lines_are_refused_or_joined(front, behind, head):
    response, _ = exchange_raw(front, head)
    if response.status != 400:
        assert response.status == 200 and ("X", "a b") in behind.requests[0].headers
    else:
        assert behind.requests == []


@pytest.mark.parametrize("fold, value", [("X: a\r\n\tb\r\n", "a b"), ("X: a\r\n \t\r\nY: b\r\n", None)])
def test_P13_folded_lines_of_a_response_are_joined_or_502(start, fold, value):
    with FakeServer(lambda c: (c.read_request(), c.send(f"HTTP/1.1 200 OK\r\n{fold}Content-Length: 2\r\n\r\nok"))) as server:
        response = start(proxy_to(server.url)).get("/")
        assert response.status == 502 or (response.status == 200 and response.body == b"ok"
                                          and (value is None or " ".join(response.header("X").split()) == value))


@pytest.mark.parametrize("path", ["/pub/%2e%2e/private", "/pub/..%2fprivate", "/pub/%2E./private", "/pub/..;/private",
                                  "/pub/../private", "/pub/.%2e/private", "/pub/%2e%2e%2fprivate", "/pub/..;x=1/private",
                                  "/pub/..\\private", "/pub/..%5cprivate", "/pub/%00/../../private", "/pub/x/../../private",
                                  "//private", "/pub//../private", "/pub/./../private", "/pub/%2e%2e;/private"])
def test_P14_what_is_matched_is_what_the_server_gets(start, behind, path):
    gateway = start({"backends": {"app": {"servers": [behind.url]}}, "routes": [{"path": "/pub/*", "proxy": "app"}]})
    response = gateway.get(path)
    assert response.status in (400, 404), path
    assert behind.requests == []


@pytest.mark.parametrize("path, arrives", [("/pub/%61", "/pub/a"), ("/pub/a%20b", "/pub/a%20b"), ("/pub/./x", "/pub/x"), ("/pub/y/../x", "/pub/x"),
                                           ("/pub/x?a=/../b&c=%2e", "/pub/x?a=/../b&c=%2e"), ("/pub/x;v=1/y", "/pub/x;v=1/y"),
                                           ("/pub/%7Euser", "/pub/~user"), ("/pub/a%3bb", "/pub/a%3bb"), ("/pub/?", "/pub/?"),
                                           ("/pub", "/pub"), ("/pub/caf%C3%A9", "/pub/caf%C3%A9")])
def test_P14_servers_get_the_canonical_path(start, behind, path, arrives):
    gateway = start({"backends": {"app": {"servers": [behind.url]}}, "routes": [{"path": "/pub/*", "proxy": "app"}]})
    assert gateway.get(path).status == 200
    assert behind.requests[0].target.lower() == arrives.lower()


def test_P16_slashes_merge_unless_told_otherwise(start, behind):
    assert start(proxy_to(behind.url)).get("//a//b").status == 200
    assert start({**proxy_to(behind.url), "merge_slashes": False}).get("//a//b").status == 200
    assert [r.target for r in behind.requests] == ["/a/b", "//a//b"]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("path", ["//evil.example/%2e%2e", "//evil.example", "//evil.example/sub", "/\\evil.example", "/%5cevil.example",
                                  "//evil.example/..", "///evil.example", "/.//evil.example", "/..//evil.example"])
def test_P16_a_redirect_never_leaves_the_site(start, tmp_path, merge, path):
    (tmp_path / "root/evil.example/sub").mkdir(parents=True)
    gateway = start({"merge_slashes": merge, "routes": [{"files": str(tmp_path / "root")}]})
    location = gateway.get(path).header("Location")
    assert location is None or re.match(r"/(?![/\\])", location), location


def test_P17_the_target_s_host_wins_over_the_host_field(front, behind):
    response, _ = exchange_raw(front, "GET http://a.example/x HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n")
    if response.status == 400:
        assert behind.requests == []
    else:
        assert response.status == 200 and behind.requests[0].target == "/x" and behind.requests[0].all("Host") == ["a.example"]


@pytest.mark.parametrize("lines", [[], ["Host: a", "Host: a"], ["Host: a", "Host: b"], ["Host: a b"], ["Host: a,b"], ["Host: a/b"],
                                   ["Host: user@a"], ["Host: a:b"], ["Host: a:99999"], ["Host: [::1"], ["Host: a\\b"]])
def test_P17_no_host_two_hosts_and_no_hosts_are_refused(front, behind, lines):
    assert_refused(front, behind, "GET / HTTP/1.1\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n")


@pytest.mark.parametrize("request_text, status", [
    ("GET / HTTP/1.1\r\nHost: a\r\nCookie: " + "c" * (16 * 1024 + 1) + "\r\n\r\n", 431),
    ("GET / HTTP/1.1\r\nHost: a\r\n" + "".join(f"X-{i}: y\r\n" for i in range(200)) + "\r\n", 431),
    ("GET / HTTP/1.1\r\nHost: a\r\n" + "".join(f"X-{i}: {'y' * 1000}\r\n" for i in range(90)) + "\r\n", 431),
    ("GET /" + "x" * 65536 + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
], ids=["cookie", "count", "sum", "target"])
def test_P18_too_much_is_told_before_the_connection_closes(front, behind, request_text, status):
    assert_refused(front, behind, request_text, (status,))


def test_P18_the_refusal_comes_through_to_one_who_still_sends(front, behind):
    with front.connect() as client:
        client.send_what_fits(b"GET / HTTP/1.1\r\nHost: a\r\nCookie: " + b"c" * 1_000_000 + b"\r\n\r\n")
        assert client.read_response().status == 431
        assert client.closed()
    assert behind.requests == []


def test_P19_a_client_cannot_seed_forwarded_addresses(front, behind):
    front.get("/", headers=[("X-Forwarded-For", "192.0.2.9"), ("X_Forwarded_For", "192.0.2.9"), ("Forwarded", "for=192.0.2.9"),
                            ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example"), ("X-Real-IP-Not-Ours", "1"),
                            ("Connection", "close, X-Forwarded-For, X-Forwarded-Proto, Via")])
    request = behind.requests[0]
    assert request.all("X-Forwarded-For") == ["127.0.0.1"]
    assert request.all("X-Forwarded-Proto") == ["http"]
    assert b"192.0.2.9" not in request.raw and b"evil.example" not in request.raw
    assert not request.all("X_Forwarded_For")


def test_P19_a_trusted_proxy_is_believed(start, behind):
    gateway = start({**proxy_to(behind.url), "trusted_proxies": ["127.0.0.0/8"]})
    gateway.get("/", headers={"X-Forwarded-For": "198.51.100.7, 192.0.2.9", "X-Forwarded-Proto": "https"})
    assert behind.requests[0].all("X-Forwarded-Proto") == ["https"]
    assert "192.0.2.9" in behind.requests[0].all("X-Forwarded-For")[0]


def test_P19_the_ajp_server_sees_the_peer_s_address(gateway):
    info = gateway.get("/ajp/info", headers={"X-Forwarded-For": "192.0.2.9"}).body
    assert b"127.0.0.1" in info and b"192.0.2.9" not in info


@pytest.mark.parametrize("data", [b"\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"])
def test_empty_lines_before_a_request_are_skipped(front, data):
    response, _ = exchange_raw(front, data)
    assert response.status in (200, 400)


@pytest.mark.parametrize("line", ["GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET / HTTP/2.0", "GET / http/1.1", "GET / HTTP/1.10", "G ET / HTTP/1.1",
                                  "GET / HTTP/0.9", "/ GET HTTP/1.1", "GET\t/ HTTP/1.1", "GET x HTTP/1.1", "GET /\x7f HTTP/1.1", "GET /\xff HTTP/1.1",
                                  "G\"T / HTTP/1.1", "GET /a b HTTP/1.1", "\x16\x03\x01\x02\x00\x01", "GET * HTTP/1.1", "GET /#f HTTP/1.1"])
def test_malformed_request_lines_are_refused(front, behind, line):
    response, closed = exchange_raw(front, f"{line}\r\nHost: a\r\n\r\n")
    assert response.status in (400, 505) and closed
    assert behind.requests == []
