"""The hints of `check --probe` in the run-time log: once for each server and symptom, when traffic shows it."""
import select
import socket

import pytest

from fakes import FakeAjp, FakeServer, ajp_answering, ajp_ok, answering, end_response, get_body_chunk, ok, packet, refused_port, send_headers
from fakes_cgi import FakeFastCgi, end_request, stderr, stdout
from harness import eventually, proxy_to


def hints(gateway):
    return [line.split("hint: ", 1)[1] for line in gateway.output().splitlines() if " hint: " in line]


def told_once(gateway, *words):
    """Waits for the one hint, which has these words in it."""
    eventually(lambda: hints(gateway), "a hint")
    told = hints(gateway)
    assert len(told) == 1, told
    assert told[0].startswith("backend app server "), told
    for word in words:
        assert word in told[0], told
    return told[0]


@pytest.mark.smoke
def test_a_refused_connection_is_told_once(start):
    gateway = start(proxy_to(f"http://127.0.0.1:{refused_port()}"))
    assert {gateway.get("/").status for _ in range(10)} == {502}
    told_once(gateway, "nobody listens at http://127.0.0.1:")


def test_an_http_server_where_ajp_was_expected(start):
    bad_request = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    with FakeServer(lambda c: (c.more(), c.send(bad_request))) as server:
        gateway = start(proxy_to(f"ajp://127.0.0.1:{server.port}"))
        assert all(gateway.get("/").status in (502, 504) for _ in range(3))
        told_once(gateway, "it speaks HTTP, not AJP", "`http://`")


def test_an_http_server_where_fastcgi_was_expected(start):
    with FakeServer(lambda c: (c.more(), c.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))) as server:
        gateway = start(proxy_to(f"fastcgi://127.0.0.1:{server.port}"))
        assert [gateway.get("/").status for _ in range(3)] == [502] * 3
        told_once(gateway, "it speaks HTTP, not FastCGI")


@pytest.mark.parametrize("secret, words", [(None, "wants a secret"), ("guess-7", "wants another secret")])
def test_A10_a_secret_that_is_missing_or_wrong(start, start_origin, secret, words):
    origin = start_origin(secret="toll")
    gateway = start(proxy_to(f"ajp://{origin.ajp}", **({"secret": secret} if secret else {})))
    assert [gateway.get("/info").status for _ in range(3)] == [403] * 3
    told_once(gateway, words, "`secret_file`")
    assert "guess-7" not in gateway.output() and "toll" not in gateway.output()


def test_an_applications_own_403_is_no_symptom(start):
    page = packet(b"\x03\0\x02no\0")
    refusing = ajp_answering(send_headers(403) + end_response(1), send_headers(403, [("Content-Length", "2")]) + page + end_response(0))
    with FakeAjp(refusing) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        assert [gateway.get("/").status for _ in range(2)] == [403] * 2
    gateway.stop()
    assert hints(gateway) == []


def test_A24_packets_larger_than_ours(start):
    def script(connection):
        request = connection.read_request()
        connection.read_data()
        connection.send(get_body_chunk(20_000))
        connection.read_data()
        connection.send(ajp_ok(request.uri.encode()))
    with FakeAjp(script) as server:
        gateway = start(proxy_to(server.url))
        assert gateway.request("POST", "/", body=b"x" * 10_000).status == 200
        told_once(gateway, "more than 8192 bytes", "`packet_size`", "`packetSize`")


def test_P31_a_script_that_php_does_not_find(start):
    def app(connection, request):
        connection.read_body(request)
        connection.send(stderr(b"Primary script unknown\n") + stdout(b"Status: 404\r\nContent-Type: text/plain\r\n\r\n") + end_request())
    with FakeFastCgi(app) as server:
        gateway = start(proxy_to(server.url, document_root="/srv/www"))
        assert [gateway.get(f"/{i}.php").status for i in range(3)] == [404] * 3
        told_once(gateway, "it finds no script /srv/www/0.php", "`document_root`")


def test_P17_a_full_backlog(start, tmp_path):
    with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX) as first:
        s.bind(str(tmp_path / "full.sock"))
        s.listen(0)
        first.connect(str(tmp_path / "full.sock"))
        gateway = start(proxy_to(f"fastcgi+unix:{tmp_path}/full.sock", timeouts={"connect": "100ms"}))
        assert [gateway.get("/").status for _ in range(3)] == [503] * 3
        told_once(gateway, "its backlog at", "`listen.backlog`")


def test_A31_a_server_that_has_its_fill_of_connections(start):
    """The second connection gets no CPONG while the first is busy."""
    def script(connection):
        if connection.number > 1:
            connection.ended()
            return
        connection.read_request()
        server.note("busy")
        while server.accepted < 2:
            select.select([], [], [], 0.01)
        connection.ended()
    with FakeAjp(script) as server:
        gateway = start(proxy_to(server.url, connections={"max": 2}, timeouts={"cping": "100ms"}))
        with gateway.connect() as busy:
            busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            eventually(lambda: server.requests, "the first request to arrive")
            assert gateway.get("/").status in (502, 504)
            told_once(gateway, "while 1 are in use", "`connections.max`")


def test_P5_an_idle_timeout_longer_than_the_servers(start):
    """Three closings in a row at the same age are a clock; the connection is opened anew each time."""
    def script(connection):
        while connection.pending or select.select([connection.socket], [], [], 0.2)[0]:
            connection.read_request()
            connection.send(ok(b""))
    with FakeServer(script) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        stale = lambda: gateway.metrics().sum("pontage_backend_connection_reuse_total", result="stale")
        for i in range(1, 4):
            assert hints(gateway) == []
            assert gateway.get("/").status == 200
            eventually(lambda i=i: stale() == i, "the server to close it")
        told_once(gateway, "closes connections that were idle for", "`connections.idle_timeout`")


def test_a_server_that_says_how_long_it_keeps_connections(start):
    with FakeServer(answering(ok(b"", "Keep-Alive: timeout=5\r\n"))) as server:
        gateway = start(proxy_to(server.url))
        assert [gateway.get("/").status for _ in range(3)] == [200] * 3
        told_once(gateway, "idle for 5s", "`connections.idle_timeout`")
