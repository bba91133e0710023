"""uWSGI behind the gateway, over each protocol that it speaks: uwsgi, SCGI, FastCGI. Ids are those of ADAPTERS."""
import hashlib
import random
import time
from urllib.parse import quote

import pytest

from conftest import Uwsgi, need_uwsgi
from harness import PATIENCE, Gateway, eventually, in_parallel, proxy_to
from wsgi import pattern

PROTOCOLS = ["uwsgi", "scgi", "fastcgi"]
SIZES = [0, 1, 8184, 65528, 65529, 131070, 1 << 20, 20 << 20]
BIG = 50 << 20

over_each = pytest.mark.parametrize("protocol", PROTOCOLS)


@pytest.fixture(scope="module", params=PROTOCOLS)
def front(request, tmp_path_factory):
    """A gateway before a uWSGI of its own."""
    need_uwsgi()
    folder = tmp_path_factory.mktemp("front")
    server = Uwsgi(folder / "uwsgi", request.param, "--buffer-size", "65535").begin()
    try:
        gateway = Gateway(folder, proxy_to(server.url(), params={"APP_ENV": "test"}))
        gateway.protocol, gateway.server = request.param, server
        yield gateway
        gateway.stop()
    finally:
        server.stop()


def environ(response):
    """What the application was told: WSGI has texts of single bytes."""
    assert response.status == 200, (response, response.body[:300])
    return {n: v.encode("latin-1").decode(errors="surrogateescape") for n, v in response.json().items()}


def arrived(response, body):
    """Asserts that the application had exactly this body, and the length of it beforehand."""
    assert response.status == 200, (response, response.body[:300])
    told = response.json()
    assert told["bytes"] == len(body) and told["sha256"] == hashlib.sha256(body).hexdigest(), (told, len(body))
    assert int(told["length"] or 0) == len(body), told


def read_piece(client):
    """One chunk of a body whose head has been read."""
    size = int(client._line(), 16)
    data = client.read_exactly(size)
    assert client._line() == ""
    return data


def test_the_application_is_told_in_full(front):
    """E1, E2, S1, U1: every variable that WSGI has."""
    with front.connect() as client:
        port = client.socket.getsockname()[1]
        told = environ(client.request("GET", "/x/y?a=1&b=%20", host="www.example.org:8080", headers={"X-Test": "yes"}))
    assert told["REQUEST_METHOD"] == "GET" and told["QUERY_STRING"] == "a=1&b=%20"
    assert told.get("SCRIPT_NAME", "") == "" and told["PATH_INFO"] == "/x/y" and told["REQUEST_URI"] == "/x/y?a=1&b=%20"
    assert told["REMOTE_ADDR"] == "127.0.0.1" and told["REMOTE_PORT"] == str(port)
    assert told["SERVER_PROTOCOL"] == "HTTP/1.1" and told["wsgi.url_scheme"] == "http"
    assert told["HTTP_HOST"] == "www.example.org:8080" and told["SERVER_NAME"] == "www.example.org"
    assert told["SERVER_PORT"] == "8080" and told["HTTP_X_TEST"] == "yes" and told["APP_ENV"] == "test"
    assert "DOCUMENT_ROOT" not in told and "SCRIPT_FILENAME" not in told
    # SCGI wants a length always, and its own mark.
    assert told.get("CONTENT_LENGTH", "") in (("0",) if front.protocol == "scgi" else ("", "0"))
    assert told.get("SCGI") == ("1" if front.protocol == "scgi" else None)


@pytest.mark.parametrize("query", ["", "?"])
def test_a_query_string_is_there_without_a_query(front, query):
    """E1: always, if empty."""
    assert environ(front.get(f"/x{query}"))["QUERY_STRING"] == ""


@pytest.mark.parametrize("sent, told", [
    ("/", "/"), ("/a%20b", "/a b"), ("/%C3%A5", "/\u00e5"), ("/%ff", "/\udcff"), ("/a%3Fb%23c", "/a?b#c"),
    ("/%2541", "/%41"), ("/a+b%2Bc", "/a+b+c"), ("/x.php/y", "/x.php/y"), ("/a/../b/", "/b/"), ("//a//b", "/a/b")])
def test_the_path_is_decoded_once(front, sent, told):
    """E1, U2: all of it is PATH_INFO where no script is named."""
    got = environ(front.get(sent + "?q"))
    assert got["PATH_INFO"] == told and got.get("SCRIPT_NAME", "") == ""


@over_each
def test_an_application_may_be_mounted(start, start_uwsgi, protocol):
    """E1: `script_name` is SCRIPT_NAME, what follows it PATH_INFO."""
    gateway = start(proxy_to(start_uwsgi(protocol).url(), script_name="/app"))
    for path, info in (("/app/x/y", "/x/y"), ("/app/a%20b", "/a b"), ("/app/", "/"), ("/app", "")):
        told = environ(gateway.get(f"{path}?q=1"))
        assert (told["SCRIPT_NAME"], told.get("PATH_INFO", ""), told["QUERY_STRING"]) == ("/app", info, "q=1")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "QUERY"])
def test_methods_arrive(front, method):
    assert environ(front.request(method, "/x"))["REQUEST_METHOD"] == method


def test_no_field_poses_as_a_variable(front):
    """E3: httpoxy (CVE-2016-5385), and what concerns the connection alone. X3: repeated fields are one."""
    told = environ(front.get("/x", headers=[
        ("Proxy", "http://evil.example:8080"), ("Connection", "X-Gone"), ("X-Gone", "1"), ("TE", "trailers"),
        ("Cookie", "a=1"), ("Cookie", "b=2"), ("X-Two", "1"), ("X-Two", "2"), ("Content-Type", "text/plain")]))
    for name in ("PROXY", "CONNECTION", "X_GONE", "TE", "CONTENT_TYPE", "CONTENT_LENGTH"):
        assert f"HTTP_{name}" not in told
    assert told["HTTP_COOKIE"] == "a=1; b=2" and told["HTTP_X_TWO"] == "1, 2" and told["CONTENT_TYPE"] == "text/plain"


def test_underscores_in_field_names_are_left_out_and_conflicts_refused(front):
    """E4, P30."""
    assert "HTTP_X_ONE" not in environ(front.get("/x", headers={"X_One": "1"}))
    assert front.get("/x", headers=[("X-One", "1"), ("X_One", "2")]).status == 400


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chunked", [False, True], ids=["known", "chunked"])
def test_uploads_arrive_byte_exact(front, size, chunked):
    """P15, S1, U1: an application reads what CONTENT_LENGTH says, so chunks must have been counted."""
    body = random.Random(size + chunked).randbytes(size)
    with front.connect(timeout=PATIENCE) as client:
        for _ in range(2):
            arrived(client.request("POST", "/body", body=body, chunked=chunked), body)


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_000, BIG])
@pytest.mark.parametrize("length", ["", "&length"])
def test_downloads_are_complete(front, size, length):
    """S1, U2: their end is the connection's, or what Content-Length says; X11: that is kept."""
    with front.connect(timeout=PATIENCE) as client:
        response = client.request("GET", f"/bytes?size={size}{length}")
        assert response.status == 200 and not response.truncated
        assert len(response.body) == size and response.body == b"".join(pattern(size))
        assert not length or response.header("Content-Length") == str(size)
        assert client.request("GET", "/answer?body=next").body == b"next"


def test_pieces_of_a_stream_pass_at_once(front):
    """X22: the first is read while the application still waits."""
    release = front.server.folder / f"release{time.monotonic_ns()}"
    with front.connect() as client:
        client.send(f"GET /stream?release={release.name} HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.read_head().status == 200
        assert read_piece(client) == b"first\n"
        assert client.silent(0.05)
        release.touch()
        assert read_piece(client) == b"last\n"
        assert client._line() == "0" and client._line() == ""
        assert client.request("GET", "/answer?body=next").body == b"next"


def test_clients_that_leave_free_the_processes(front):
    """X18: more of them than there are processes."""
    for _ in range(4):
        with front.connect() as client:
            client.send("GET /stream?release=never&ticks HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.read_head().status == 200
            assert read_piece(client).startswith(b"first\n")
    assert front.get("/answer?body=next").body == b"next"
    eventually(lambda: front.metrics().sum("pontage_requests_in_flight") == 0)


def test_heads_have_no_body_and_keep_the_length(front):
    """X10, X11, P12: this application writes one all the same."""
    with front.connect() as client:
        for _ in range(3):
            assert client.request("HEAD", "/bytes?size=5000&length").header("Content-Length") == "5000"
            assert client.request("HEAD", "/bytes?size=5000").header("Content-Length") in (None, "5000")
            assert client.request("GET", "/answer?body=abc").body == b"abc"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("body", ["", "&body=abc"])
def test_answers_without_a_body_leave_the_connection_usable(front, status, body):
    """P35: also when the application writes one."""
    with front.connect() as client:
        for _ in range(3):
            assert client.request("GET", f"/answer?status={quote(status)}{body}").status == int(status[:3])
            assert client.request("GET", "/answer?body=next").body == b"next"


@pytest.mark.parametrize("status", ["201 Created", "302 Found", "307 Temporary Redirect"])
def test_a_location_passes_with_its_status(front, status):
    """C2, P20: neither is changed, and the client does not wait for a body."""
    with front.connect() as client:
        for _ in range(2):
            response = client.request("GET", f"/answer?status={quote(status)}&location=/there%3Fx%3D1")
            assert response.status == int(status[:3]) and response.header("Location") == "/there?x=1"
            assert response.body == b"" and response.header("Status") is None
            assert response.header("Content-Length") == "0" or response.header("Transfer-Encoding") == "chunked"


def test_every_cookie_is_kept_in_order(front):
    assert front.get("/answer?cookies=5").all("Set-Cookie") == [f"c{i}=v{i}" for i in range(5)]


@pytest.mark.parametrize("status", ["400 Bad", "404 Not Here", "418 Teapot", "500 Oh", "503 Busy"])
def test_statuses_pass(front, status):
    response = front.get(f"/answer?status={quote(status)}&body=words")
    assert response.status == int(status[:3]) and response.body == b"words"


def test_many_requests_at_once_get_their_own_answers(front):
    """V7: 60 of them, with two processes."""
    def ask(i):
        body = f"{i}".encode() * (1 + 997 * i)
        response = front.request("POST", f"/body?token={i}", body=body, chunked=bool(i % 2))
        arrived(response, body)
        return int(response.json()["token"])
    assert in_parallel(60, ask) == list(range(60))


@over_each
def test_a_port_does_as_well_as_a_socket_s_path(start, start_uwsgi, protocol):
    server = start_uwsgi(protocol, tcp=True)
    gateway = start(proxy_to(server.url()))
    assert server.url() == f"{protocol}://127.0.0.1:{server.place}"
    for size in (0, 100_000):
        arrived(gateway.request("POST", "/body", body=b"x" * size), b"x" * size)
        assert len(gateway.get(f"/bytes?size={size}").body) == size


@over_each
def test_a_server_that_was_killed_serves_again(start, start_uwsgi, protocol):
    """X10, X19: what was under way is cut, then there are errors, then there are none."""
    server = start_uwsgi(protocol)
    gateway = start(proxy_to(server.url()))
    with gateway.connect() as client:
        # Without a length the server's end would be the answer's, for uwsgi and SCGI.
        client.send("GET /stream?release=never&length=11 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.read_head().header("Content-Length") == "11"
        assert client.read_exactly(6) == b"first\n"
        server.kill()
        assert client.closed()
    assert gateway.get("/x").status in (502, 503)
    server.start()
    eventually(lambda: gateway.get("/x").status == 200, "the server to be used again")


LARGE = [(f"X-Large-{i}", "y" * 3000) for i in range(3)]


def test_variables_over_uwsgi_s_buffer_are_a_502(start, start_uwsgi):
    """U1, P25 (uwsgi#1048): by default it takes 4096 bytes, and closes without a word when there are more."""
    gateway = start(proxy_to(start_uwsgi("uwsgi").url()))
    for _ in range(3):
        assert gateway.get("/x", headers=LARGE).status == 502
        assert gateway.get("/x").status == 200


def test_the_log_says_how_to_get_large_variables_to_uwsgi(start, start_uwsgi):
    """U1, P25: the cause is hard to find otherwise."""
    gateway = start(proxy_to(start_uwsgi("uwsgi").url()))
    assert gateway.get("/x", headers=LARGE).status == 502
    eventually(lambda: "buffer-size" in gateway.output(), "the name of uWSGI's option in the log", PATIENCE / 4)


def test_variables_that_fit_into_the_buffer_arrive(front):
    """U1: up to 64 KiB."""
    told = environ(front.get("/x", headers=[(f"X-Large-{i}", "y" * 3000) for i in range(15)]))
    assert [len(told[f"HTTP_X_LARGE_{i}"]) for i in range(15)] == [3000] * 15


def test_more_variables_than_are_allowed_are_a_431(start, start_uwsgi):
    """U1: the server is not asked then."""
    gateway = start(proxy_to(start_uwsgi("uwsgi").url(), max_vars="4KiB"))
    for _ in range(3):
        assert gateway.get("/x", headers=LARGE).status == 431
        assert gateway.get("/x").status == 200
