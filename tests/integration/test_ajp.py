"""AJP answers of all sizes, after the connection has learnt what is usual (`src/upstream/answer_mark.h`)."""
import threading
import time

import pytest

from fakes import FakeAjp, ajp_answering, ajp_ok, body_chunk, end_response, send_headers
from harness import PATIENCE, SCALE, proxy_to

USUAL = b"u" * 5000
LEARNT = 12  # more than AnswerMark::kLearn


def one_worker(start, server, **backend):
    return start({**proxy_to(server.url, **backend), "workers": 1})


def learn(client):
    for _ in range(LEARNT):
        assert client.request("GET", "/usual").body == USUAL


def answers(*special):
    """LEARNT usual answers, then `special`, then usual ones again; all on one connection."""
    return ajp_answering(*[ajp_ok(USUAL)] * LEARNT, *special, ajp_ok(USUAL))


def test_answers_shorter_and_longer_than_usual_come_whole(start):
    bodies = [b"", b"s", b"m" * 4990, b"l" * 200_000, b"s" * 3, b"x" * 8000]

    def in_packets(body):
        chunks = [body_chunk(body[i:i + 8000]) for i in range(0, len(body), 8000)]
        return send_headers() + b"".join(chunks) + end_response()
    with FakeAjp(answers(*map(in_packets, bodies))) as server:
        with one_worker(start, server).connect() as client:
            learn(client)
            for body in bodies + [USUAL]:
                assert client.request("GET", "/special").body == body
            assert client.request("HEAD", "/usual").status == 200
        assert server.accepted == 1


@pytest.mark.parametrize("piece", [b"", b"first"], ids=["head", "piece"])
def test_what_the_server_sent_reaches_the_client_before_the_usual_size_is_there(start, piece):
    """A page that says something first and computes then: nobody may wait for what only comes after an answer."""
    seen = threading.Event()

    def script(connection):
        for _ in range(LEARNT):
            connection.read_request()
            connection.send(ajp_ok(USUAL))
        connection.read_request()
        connection.send(send_headers() + (body_chunk(piece) + body_chunk(b"") if piece else body_chunk(b"")))
        assert seen.wait(PATIENCE)
        connection.send(body_chunk(b"second") + end_response())
    with FakeAjp(script) as server:
        with one_worker(start, server).connect() as client:
            learn(client)
            client.send(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            response = client.read_head()
            assert response.status == 200
            if piece:
                while piece not in client.pending:
                    client._more()
            seen.set()
        assert server.accepted == 1


@pytest.mark.parametrize("method, head", [("GET", b""), ("GET", send_headers()), ("HEAD", send_headers())], ids=["no-head", "flushes", "discarded"])
def test_a_server_that_talks_without_saying_anything_gets_no_more_time_than_a_silent_one(start, method, head):
    def script(connection):
        connection.read_request()
        connection.send(head)
        while True:
            connection.send(body_chunk(b"x" if method == "HEAD" else b""))
            time.sleep(0.02)
    limits = {"first_byte": f"{300 * SCALE}ms", "idle": f"{300 * SCALE}ms"}
    with FakeAjp(script) as server:
        with one_worker(start, server, timeouts=limits).connect() as client:
            client.send(f"{method} / HTTP/1.1\r\nHost: a\r\n\r\n")
            response = client.read_head()
            assert response.status == (504 if not head else 200)
            if method == "GET" and head:
                assert client.closed()


def test_X20_bytes_out_of_turn_after_usual_answers_belong_to_nobody(start):
    strayed = threading.Event()

    def script(connection):
        for i in range(LEARNT):
            connection.read_request()
            connection.send(ajp_ok(USUAL))
            if connection.number > 1:
                return
        connection.send(ajp_ok(b"stray"))
        strayed.set()
        connection.ended()
    with FakeAjp(script) as server:
        gateway = one_worker(start, server)
        with gateway.connect() as client:
            learn(client)
            assert strayed.wait(PATIENCE)
            gateway.counts(0, "pontage_backend_connections", state="idle")
            assert client.request("GET", "/usual").body == USUAL
        assert server.accepted == 2


def test_a_server_that_dies_before_the_usual_size_is_a_bad_gateway_at_once(start):
    def script(connection):
        for _ in range(LEARNT):
            connection.read_request()
            connection.send(ajp_ok(USUAL))
        connection.read_request()
        connection.send(send_headers(200, [("Content-Length", "5000")])[:9])
    with FakeAjp(script) as server:
        with one_worker(start, server, timeouts={"first_byte": "1h", "idle": "1h"}).connect() as client:
            learn(client)
            assert client.request("GET", "/usual").status == 502
