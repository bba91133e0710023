"""HTTP/1.1 towards clients: connections, methods, expectations and limits (RFC 9112, RFC 9110)."""
import shutil
import subprocess

import pytest

from fakes import FakeServer, answering, ok
from harness import ADAPTERS, PATIENCE, exchange_raw, proxy_to

pytestmark = pytest.mark.smoke


def test_a_connection_serves_many_requests(gateway):
    with gateway.connect() as client:
        for i in range(100):
            path = ["/3k.bin", "/http/bytes/10", "/ajp/bytes/20"][i % 3]
            assert len(client.request("GET", path).body) == [3072, 10, 20][i % 3]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_pipelined_requests_are_answered_in_order(gateway, adapter):
    with gateway.connect() as client:
        client.send("".join(f"GET /{adapter}/token?token=t{i}&ms={20 if i % 7 == 0 else 0} HTTP/1.1\r\nHost: a\r\n\r\n"
                            for i in range(50)))
        assert [client.read_response().body.decode().strip() for _ in range(50)] == [f"t{i}" for i in range(50)]


def test_pipelined_requests_behind_a_body_are_not_lost(gateway):
    with gateway.connect() as client:
        client.send("POST /http/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /ten.txt HTTP/1.1\r\nHost: a\r\n\r\n"
                    "POST /ajp/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nworld\r\n0\r\n\r\n"
                    "GET /fifty.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert client.read_response().body == b"hello"
        assert client.read_response().body == b"0123456789"
        assert client.read_response().body == b"world"
        assert len(client.read_response().body) == 50
        assert client.closed()


@pytest.mark.parametrize("path", ["/3k.bin", "/3m.bin", "/http/bytes/3072", "/ajp/bytes/3072"])
def test_head_answers_like_get_without_a_body(gateway, path):
    with gateway.connect() as client:
        get = client.request("GET", path)
        head = client.request("HEAD", path)
        assert head.status == get.status == 200
        assert head.header("Content-Length") == get.header("Content-Length")
        assert client.request("GET", "/ten.txt").body == b"0123456789"  # nothing was left in the connection


def test_options_asterisk_is_answered(gateway):
    response, _ = exchange_raw(gateway, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert response.status in (200, 204)


@pytest.mark.parametrize("method", ["PATCH", "QUERY", "PROPFIND", "DELETE", "M-SEARCH"])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_any_method_reaches_the_server(gateway, adapter, method):
    assert gateway.request(method, f"/{adapter}/info").json()["method"] == method


def test_connect_is_refused(gateway):
    with gateway.connect() as client:
        client.send("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
        assert client.read_response().status in (400, 404, 405, 501)


def test_connection_close_is_honoured_and_told(gateway):
    for path in ("/ten.txt", "/http/bytes/10", "/ajp/bytes/10"):
        response, closed = exchange_raw(gateway, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert response.header("Connection").lower() == "close" and closed


def test_http_1_0_closes_unless_keep_alive_is_asked_for(gateway):
    response, closed = exchange_raw(gateway, "GET /ten.txt HTTP/1.0\r\n\r\n")
    assert response.body == b"0123456789" and closed
    with gateway.connect() as client:
        for _ in range(3):
            client.send("GET /ten.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            response = client.read_response()
            assert response.body == b"0123456789" and response.header("Connection").lower() == "keep-alive"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_http_1_0_never_gets_chunks(gateway, adapter):
    response, closed = exchange_raw(gateway, f"GET /{adapter}/bytes/5000?chunked=1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert not response.all("Transfer-Encoding") and len(response.body) == 5000 and closed


@pytest.mark.skipif(not shutil.which("ab"), reason="ab is not installed")
@pytest.mark.parametrize("path", ["/3k.bin", "/http/bytes/1000", "/ajp/bytes/1000"])
def test_ab_reuses_its_connections(gateway, path):
    host, port = gateway.address
    done = subprocess.run(["ab", "-k", "-q", "-n", "500", "-c", "10", f"http://{host}:{port}{path}"], capture_output=True,
                          text=True, timeout=PATIENCE)
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    assert lines["Complete requests"].strip() == "500", done.stdout + done.stderr
    assert lines["Failed requests"].strip() == "0", done.stdout
    assert int(lines["Keep-Alive requests"]) == 500, done.stdout


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_100_continue_is_sent_before_the_body(gateway, adapter):
    with gateway.connect() as client:
        client.send(f"POST /{adapter}/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert client.read_head().status == 100
        client.send("hello")
        assert client.read_response().body == b"hello"
        assert client.request("GET", "/ten.txt").status == 200


def test_100_continue_is_not_sent_when_the_answer_is_final_already(gateway):
    with gateway.connect() as client:
        client.send("POST /ten.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        response = client.read_response("POST")
        assert response.status == 405 and not response.interim
        assert client.closed()  # the body may follow or not: nobody can tell


def test_100_continue_is_not_sent_when_the_body_is_there_already(gateway):
    with gateway.connect() as client:
        client.send("POST /http/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello")
        response = client.read_response()
        assert response.body == b"hello"


def test_100_continue_is_not_sent_to_http_1_0(gateway):
    with gateway.connect() as client:
        client.send("POST /http/echo HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello")
        response = client.read_response()
        assert response.body == b"hello" and not response.interim


def test_an_unknown_expectation_is_417_or_ignored(gateway):
    response = gateway.get("/ten.txt", headers={"Expect": "tea"})
    assert response.status in (200, 417)


def test_absolute_form_is_served(gateway):
    host, port = gateway.address
    response, _ = exchange_raw(gateway, f"GET http://{host}:{port}/ten.txt HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n")
    assert response.body == b"0123456789"


def test_absolute_form_reaches_ajp_as_a_path(gateway):
    response, _ = exchange_raw(gateway, "GET http://a.example/ajp/info?x=1 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
    assert "a.example/ajp" not in response.json()["target"]


def test_hop_by_hop_fields_stay_on_their_hop(start):
    with FakeServer(answering(ok(b"x", "Connection: X-Gone, keep-alive\r\nX-Gone: 1\r\nKeep-Alive: timeout=5\r\n"
                                       "Proxy-Connection: x\r\nUpgrade: h2c\r\nX-Stays: 1\r\n"))) as server:
        def script_note(connection):
            while True:
                server.note(connection.read_request())
                connection.send(ok(b"x", "Connection: X-Gone, keep-alive\r\nX-Gone: 1\r\nKeep-Alive: timeout=5\r\n"
                                         "Upgrade: h2c\r\nX-Stays: 1\r\n"))
        server.script = script_note
        gateway = start(proxy_to(server.url))
        response = gateway.get("/", headers={"Connection": "X-Hop, TE", "X-Hop": "1", "TE": "trailers", "Keep-Alive": "timeout=9",
                                             "Proxy-Connection": "keep-alive", "Upgrade": "h2c", "X-End": "1"})
        sent = {n.lower() for n, _ in server.requests[0].headers}
        assert not sent & {"x-hop", "te", "keep-alive", "proxy-connection", "upgrade"}
        assert "x-end" in sent
        got = {n.lower() for n, _ in response.headers}
        assert not got & {"x-gone", "keep-alive", "upgrade", "proxy-connection"} and "x-stays" in got


def test_a_method_that_files_do_not_take_is_405_with_allow(gateway):
    response = gateway.request("POST", "/ten.txt", body=b"x")
    assert response.status == 405 and "GET" in response.header("Allow")


def test_a_missing_file_is_404_and_the_connection_lives(gateway):
    with gateway.connect() as client:
        assert client.request("GET", "/none").status == 404
        assert client.request("GET", "/ten.txt").status == 200


def test_error_pages_follow_accept_and_never_name_a_server(start):
    from fakes import refused_port
    port = refused_port()
    gateway = start(proxy_to(f"http://127.0.0.1:{port}"))
    json_page = gateway.get("/", headers={"Accept": "application/json"})
    assert json_page.status == 502 and json_page.header("Content-Type").startswith("application/problem+json")
    assert json_page.json()["status"] == 502
    html = gateway.get("/", headers={"Accept": "text/html,*/*"})
    assert html.header("Content-Type").startswith("text/html")
    for page in (json_page, html, gateway.get("/")):
        assert str(port).encode() not in page.body and b"127.0.0.1" not in page.body


def test_every_cut_of_a_request_is_survived(gateway):
    whole = b"POST /http/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    for cut in range(1, len(whole)):
        with gateway.connect() as client:
            client.send(whole[:cut])
            client.send(whole[cut:])
            assert client.read_response().body == b"hello", cut


def test_a_client_that_goes_at_any_byte_does_no_harm(gateway):
    whole = b"POST /ajp/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    for cut in range(len(whole)):
        for leave in ("close", "reset"):
            client = gateway.connect()
            client.send(whole[:cut])
            getattr(client, leave)()
    assert gateway.get("/ajp/bytes/10").status == 200
