"""Every wait has an end, with a status of its own (ADAPTERS X17)."""
import socket
import threading

import pytest

from fakes import FakeAjp, FakeServer, answering, ok
from harness import ADAPTERS, PATIENCE, SCALE, backend_to, eventually, proxy_to

pytestmark = pytest.mark.smoke
SHORT = f"{300 * SCALE}ms"


def respond(**client):
    return {"client": client, "routes": [{"respond": "x"}]}


def test_a_slow_head_is_408_or_cut(start):
    gateway = start(respond(head=SHORT))
    with gateway.connect() as client:
        client.send("GET / HTTP/1.1\r\nHos")
        assert client.read_response().status == 408
        assert client.closed()


def test_a_silent_connection_is_closed_without_a_word(start):
    gateway = start(respond(head=SHORT))
    with gateway.connect() as client:
        assert client.closed()


def test_an_idle_connection_is_closed(start):
    gateway = start(respond(keep_alive=SHORT))
    with gateway.connect() as client:
        assert client.request("GET", "/").body == b"x"
        assert client.closed()


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_stalled_upload_is_408_or_cut(start, origin, adapter):
    gateway = start({"backends": {"app": backend_to(origin, adapter)}, "routes": [{"proxy": "app"}], "client": {"body_idle": SHORT}})
    with gateway.connect() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
        try:
            assert client.read_response().status == 408
        except EOFError:
            pass
        assert client.closed()
    eventually(lambda: gateway.metrics().sum("pontage_backend_server_in_flight") == 0)
    assert gateway.get("/status/200").status == 200
    gateway.counts(1, "pontage_backend_server_up")


def test_a_client_that_does_not_read_is_cut(start, origin):
    gateway = start({**proxy_to(f"http://{origin.http}"), "client": {"send_idle": SHORT}})
    with gateway.connect(receive_buffer=4096) as client:
        client.send("GET /bytes/50000000 HTTP/1.1\r\nHost: a\r\n\r\n")
        eventually(lambda: gateway.metrics().sum("pontage_requests_in_flight") == 0, "the gateway to give up")
        gateway.counts(1, "pontage_aborts_total", side="client")


def test_a_connect_without_an_answer_ends_and_the_next_server_is_tried(start, origin):
    # A full backlog: the kernel neither accepts nor refuses.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        blockers = []
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", port))
            blockers.append(s)
        gateway = start({**proxy_to(f"http://127.0.0.1:{port}", f"http://{origin.http}", timeouts={"connect": SHORT}), "workers": 1})
        assert [gateway.get("/status/200").status for _ in range(4)] == [200] * 4
        alone = start(proxy_to(f"http://127.0.0.1:{port}", timeouts={"connect": SHORT}))
        assert alone.get("/").status in (502, 504)
        for s in blockers:
            s.close()


def test_a_silent_server_is_504_for_ajp_too(start):
    with FakeAjp(lambda c: (c.read_request(), c.ended())) as server:
        gateway = start(proxy_to(server.url, timeouts={"first_byte": SHORT}))
        assert gateway.get("/").status == 504


def test_a_server_that_does_not_take_the_body_is_504(start):
    release = threading.Event()

    def script(connection):
        connection.read_head()
        release.wait(PATIENCE)
    with FakeServer(script) as server:
        gateway = start(proxy_to(server.url, timeouts={"idle": SHORT, "first_byte": SHORT}))
        response = gateway.request("POST", "/", body=bytes(30_000_000))
        release.set()
        assert response.status == 504


def test_a_slow_server_within_its_time_is_fine(start):
    gateway = None
    with FakeServer(answering(ok(b"slow"))) as server:
        gateway = start(proxy_to(server.url, timeouts={"first_byte": "10s", "idle": SHORT}))
        assert gateway.get("/").body == b"slow"


def test_idle_server_connections_end(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}", connections={"idle_timeout": SHORT}))
    gateway.get("/status/200")
    eventually(lambda: gateway.metrics().sum("pontage_backend_connections") == 0, "the pool to empty itself")
    assert gateway.get("/status/200").status == 200
