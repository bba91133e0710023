"""`response_buffering`: who holds a server for how long, and what the client sees when (ADAPTERS X22)."""
import threading

import pytest

from fakes import FakeAjp, FakeServer, ajp_answering, answering, body_chunk, end_response, send_headers
from harness import ADAPTERS, PATIENCE, Client, backend_to, eventually, proxy_to

pytestmark = pytest.mark.smoke

LARGE = 30_000_000  # more than the sockets' buffers hold




def idle_gateway(start, origin, adapter, **more):
    config = {"backends": {"app": {**backend_to(origin, adapter), **more}}, "routes": [{"name": "all", "proxy": "app"}], "workers": 1}
    return start(config)


def slow_client(gateway, path):
    client = Client(gateway.address, receive_buffer=4096)
    client.send(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return client


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_slow_reader_holds_no_server_when_answers_are_taken_in(start, origin, adapter):
    gateway = idle_gateway(start, origin, adapter, response_buffering="on", connections={"max": 1}, queue={"timeout": "1h"})
    with slow_client(gateway, f"/bytes/{LARGE}") as slow:
        response = slow.read_head()
        assert response.status == 200 and response.header("content-length") == str(LARGE)
        gateway.counts(0, "pontage_backend_connections", state="busy")
        assert len(gateway.get("/bytes/10").body) == 10
        body = slow.read_exactly(LARGE)
        with gateway.connect() as fast:
            fast.send(f"GET /bytes/{LARGE} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            assert fast.read_response().body == body


@pytest.mark.parametrize("buffering", ["auto", "off"])
def test_a_slow_reader_holds_its_server_otherwise_and_costs_no_memory(start, origin, buffering):
    gateway = idle_gateway(start, origin, "http", response_buffering=buffering)
    with slow_client(gateway, f"/bytes/{LARGE}") as slow:
        assert slow.read_head().status == 200
        assert gateway.metrics().sum("pontage_backend_connections", state="busy") == 1
        assert len(slow.read_exactly(LARGE)) == LARGE


def test_an_answer_that_breaks_off_while_it_is_taken_in_is_an_error_page(start):
    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 70_000)
    with FakeServer(script) as server:
        response = start(proxy_to(server.url, response_buffering="on")).get("/")
        assert response.status == 502 and not response.truncated


def test_a_length_is_found_and_trailers_are_kept(start):
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n%s\r\n3\r\nabc\r\n0\r\n%s\r\n"
    with FakeServer(answering(chunked % (b"", b""), chunked % (b"Trailer: X-Sum\r\n", b"X-Sum: 6\r\n"))) as server:
        gateway = start(proxy_to(server.url, response_buffering="on"))
        plain = gateway.get("/")
        assert plain.header("content-length") == "3" and plain.header("transfer-encoding") is None and plain.body == b"abc"
        with gateway.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n")
            told = client.read_response()
        assert told.header("transfer-encoding") == "chunked" and told.body == b"abc" and ("X-Sum", "6") in told.trailers


def test_bodyless_answers_stay_bodyless(start, origin):
    gateway = idle_gateway(start, origin, "http", response_buffering="on")
    head = gateway.request("HEAD", "/bytes/5000")
    assert head.status == 200 and head.header("content-length") == "5000" and head.body == b""
    assert gateway.get("/status/204").status == 204
    assert gateway.get("/status/304").status == 304
    assert gateway.get("/bytes/0").body == b""


def test_what_is_larger_than_the_spool_passes_whole(start, origin):
    config = {"backends": {"app": {**backend_to(origin, "http"), "response_buffering": "on"}}, "routes": [{"proxy": "app"}],
              "spool": {"response": "100KiB", "memory": "4KiB"}}
    gateway = start(config)
    plain = idle_gateway(start, origin, "http")
    for size in (50_000, 102_400, 102_401, 3_000_000):
        assert gateway.get(f"/bytes/{size}").body == plain.get(f"/bytes/{size}").body


@pytest.mark.parametrize("buffering", ["off", "auto", "on"])
def test_event_streams_pass_at_once(start, buffering):
    seen = threading.Event()

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\ndata: 1\n\n")
        assert seen.wait(PATIENCE)
        connection.send(b"data: 2\n\n")
    with FakeServer(script) as server:
        with start(proxy_to(server.url, response_buffering=buffering)).connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.read_head().status == 200
            while b"data: 1" not in client.pending:
                assert client._more()
            seen.set()
            while b"data: 2" not in client.pending:
                assert client._more()


@pytest.mark.parametrize("buffering", ["off", "auto", "on"])
def test_what_a_server_flushes_passes_at_once(start, buffering):
    seen = threading.Event()

    def script(connection):
        connection.read_request()
        connection.send(send_headers() + body_chunk(b"first") + body_chunk(b""))
        assert seen.wait(PATIENCE)
        connection.send(body_chunk(b"second") + end_response())
    with FakeAjp(script) as server:
        with start(proxy_to(server.url, response_buffering=buffering)).connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.read_head().status == 200
            while b"first" not in client.pending:
                assert client._more()
            seen.set()
            while b"second" not in client.pending:
                assert client._more()


def test_without_buffering_the_head_waits_for_nothing(start):
    """Nor for the 4 ms of `auto`; and the connection has learnt nothing that could hold it."""
    with FakeAjp(ajp_answering(send_headers() + body_chunk(b"x" * 3000) + end_response())) as server:
        gateway = start({**proxy_to(server.url, response_buffering="off"), "workers": 1})
        with gateway.connect() as client:
            for _ in range(30):
                assert client.request("GET", "/").body == b"x" * 3000
        assert server.accepted == 1


def test_the_route_has_the_last_word(start, origin):
    config = {"backends": {"app": {**backend_to(origin, "http"), "response_buffering": "on"}},
              "routes": [{"path": "/stream", "proxy": "app", "response_buffering": "off"}, {"proxy": "app"}]}
    gateway = start(config)
    assert gateway.get("/stream").header("content-length") is None
    eventually(lambda: gateway.get("/bytes/10").header("content-length") == "10")
