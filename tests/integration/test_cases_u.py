"""CASES.md, U: what servers behind the gateway do (the HTTP and AJP rows)."""
import select
import threading

import pytest

from fakes import (FakeAjp, FakeServer, ajp_answering, ajp_ok, answering, body_chunk, end_response, get_body_chunk, ok, packet,
                   send_headers, text)
from harness import SCALE, eventually, proxy_to

pytestmark = pytest.mark.smoke


def through(start, server, **backend):
    return start({**proxy_to(server.url, **backend), "workers": 1})


def test_U01_an_early_413_comes_through_a_large_upload(start):
    def script(connection):
        connection.read_head()
        connection.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large")
    with FakeServer(script) as server:
        gateway = through(start, server)
        for _ in range(3):
            response = gateway.request("POST", "/", body=bytes(28_000_000))
            assert response.status == 413 and response.body == b"too large"
        assert server.accepted == 3  # none of the connections was used again
        gateway.counts(0, "pontage_backend_connections", state="idle")


@pytest.mark.parametrize("adapter", ["http", "ajp"])
def test_U01_an_early_413_of_the_origin_comes_through(gateway, adapter):
    response = gateway.request("POST", f"/{adapter}/early", body=bytes(28_000_000))
    assert response.status == 413
    assert gateway.get(f"/{adapter}/status/200").status == 200


def test_U01_over_ajp_the_answer_comes_while_the_body_is_not_read(start):
    def script(connection):
        connection.read_request()
        connection.send(send_headers(413, [("Content-Length", "3")]) + body_chunk(b"no!") + end_response(0))
    with FakeAjp(script) as server:
        response = through(start, server).request("POST", "/", body=bytes(5_000_000))
        assert response.status == 413 and response.body == b"no!"


def test_U03_interim_responses_go_to_1_1_and_never_to_1_0(start):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
    with FakeServer(answering(hints + ok(b"done"))) as server:
        gateway = through(start, server)
        response = gateway.get("/")
        assert response.status == 200 and response.body == b"done"
        assert [i.status for i in response.interim] in ([103, 102], [103])
        assert response.interim[0].header("Link") == "</a.css>; rel=preload"
        with gateway.connect() as client:
            client.send("GET / HTTP/1.0\r\n\r\n")
            response = client.read_response()
            assert response.body == b"done" and not response.interim


@pytest.mark.parametrize("framing", ["Transfer-Encoding: chunked", "Content-Length: 5"])
def test_U05_head_has_no_body_whatever_the_server_says(start, framing):
    with FakeServer(answering(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n".encode())) as server:
        gateway = through(start, server)
        with gateway.connect() as client:
            for _ in range(2):
                response = client.request("HEAD", "/")
                assert response.status == 200
                assert client.pending == b"" and client.silent(0.05)
        assert server.accepted == 1


def test_U06_204_and_304_have_no_body(start):
    answers = {
        "/a": b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "/b": b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
        "/c": b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
        "/d": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 30\r\n\r\n",
        "/e": ok(b"end"),
    }
    with FakeServer(answering(lambda request: answers[request.target])) as server:
        gateway = through(start, server)
        with gateway.connect() as client:
            for path, status in (("/a", 204), ("/b", 304), ("/c", 204), ("/d", 304), ("/e", 200)) * 2:
                response = client.request("GET", path)
                assert response.status == status
                assert not response.all("Transfer-Encoding")
                assert status != 204 or not response.all("Content-Length")
                if status != 200:
                    assert client.silent(0.02), path
                else:
                    assert response.body == b"end"


def test_U07_excess_bytes_reach_nobody(start):
    with FakeServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfive!HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")) as server:
        gateway = through(start, server)
        for _ in range(5):
            assert gateway.get("/").body == b"five!"
        assert server.accepted == 5


def test_U07_bytes_on_an_idle_connection_end_it(start):
    sent = threading.Event()

    def script(connection):
        for _ in range(2):
            connection.read_request()
            connection.send(ok(str(connection.number)))
            if connection.number == 1:
                select.select([], [], [], 0.05)
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
                sent.set()
    with FakeServer(script) as server:
        gateway = through(start, server)
        assert gateway.get("/").body == b"1"
        assert sent.wait(10)
        assert gateway.get("/").body == b"2"


@pytest.mark.parametrize("answer, body", [(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 40, b"x" * 40),
                                          (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + b"x" * 40, b"x" * 40),
                                          (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n28\r\n" + b"x" * 40 + b"\r\n", b"x" * 40)])
def test_U09_a_cut_response_is_cut_for_the_client_too(start, answer, body):
    def script(connection):
        connection.read_request()
        connection.send(answer)
    with FakeServer(script) as server:
        gateway = through(start, server)
        response = gateway.get("/")
        # When nothing was passed on yet, an honest 502 is as good.
        assert response.status == 502 or (response.truncated and body.startswith(response.body))
        assert gateway.metrics().sum("pontage_aborts_total") >= 1


def test_U09_a_cut_ajp_response_is_cut_for_the_client_too(start):
    def script(connection):
        connection.read_request()
        connection.send(send_headers(200, [("Content-Length", "100")]) + body_chunk(b"x" * 40))
    with FakeAjp(script) as server:
        response = through(start, server).get("/")
        assert response.status == 502 or response.truncated


def test_U09_ajp_that_ends_before_its_length_is_cut(start):
    with FakeAjp(ajp_answering(send_headers(200, [("Content-Length", "100")]) + body_chunk(b"x" * 40) + end_response(1))) as server:
        gateway = through(start, server)
        response = gateway.get("/")
        assert response.status == 502 or response.truncated
        gateway.counts(0, "pontage_backend_connections", state="idle")


def test_U10_a_stalled_response_is_cut_and_never_finished(start):
    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + b"x" * (1 << 20) + b"\r\n")
        connection.ended()
    with FakeServer(script) as server:
        response = through(start, server, timeouts={"idle": f"{300 * SCALE}ms"}).get("/")
        assert response.truncated and len(response.body) <= 1 << 20


def test_U10_silence_before_the_first_byte_is_504(start):
    with FakeServer(lambda c: (c.read_request(), c.ended())) as server:
        gateway = through(start, server, timeouts={"first_byte": f"{200 * SCALE}ms"})
        assert gateway.get("/").status == 504
        gateway.counts(1, "pontage_backend_server_up")


def closing_when_reused(server, closed):
    """Connection 1 serves one request and closes as the second arrives; the others are good."""
    def script(connection):
        while True:
            request = connection.read_request()
            server.note(request)
            if connection.number == 1 and len([r for r in server.requests]) > 1:
                closed.set()
                return
            connection.send(ok(str(connection.number)))
    return script


def test_U11_get_on_a_connection_that_closes_is_sent_again(start):
    closed = threading.Event()
    with FakeServer(None) as server:
        server.script = closing_when_reused(server, closed)
        gateway = through(start, server)
        assert gateway.get("/first").body == b"1"
        second = gateway.get("/second")
        assert closed.is_set() and second.status == 200 and second.body == b"2"
        gateway.counts(1, "pontage_backend_retries_total", reason="reused_closed")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_U11_post_on_a_connection_that_closes_is_not_sent_again(start, method):
    closed = threading.Event()
    with FakeServer(None) as server:
        server.script = closing_when_reused(server, closed)
        gateway = through(start, server)
        assert gateway.get("/first").body == b"1"
        second = gateway.request(method, "/second", body=b"money")
        assert closed.is_set() and second.status == 502
        assert len([r for r in server.requests if r.target == "/second"]) == 1
        assert gateway.get("/third").status == 200


def test_U11_post_is_sent_again_where_the_route_allows_it(start):
    closed = threading.Event()
    with FakeServer(None) as server:
        server.script = closing_when_reused(server, closed)
        config = proxy_to(server.url)
        config["routes"][0]["retry_non_idempotent"] = True
        gateway = start({**config, "workers": 1})
        gateway.get("/first")
        second = gateway.request("POST", "/second", body=b"money")
        assert second.status == 200
        assert [r.body for r in server.requests if r.target == "/second"] == [b"money", b"money"]


def test_U11_a_fresh_connection_that_closes_is_not_tried_again(start):
    with FakeServer(lambda c: server.note(c.read_request())) as server:
        assert through(start, server).get("/").status == 502
        assert len(server.requests) == 1


def test_U13_the_server_s_own_errors_pass_untouched(start):
    answer = b"HTTP/1.1 %d Oops\r\nContent-Length: 1\r\nX-Why: me\r\n\r\n%b"
    with FakeServer(answering(lambda r: answer % ((500, b"X") if r.method == "POST" else (503, b"Y")))) as server:
        gateway = through(start, server)
        post = gateway.request("POST", "/", body=b"a")
        assert (post.status, post.body, post.header("X-Why")) == (500, b"X", "me")
        get = gateway.get("/")
        assert (get.status, get.body, get.header("X-Why")) == (503, b"Y", "me")


def test_U14_response_trailers_are_passed_or_dropped_but_never_merged(start):
    with FakeServer(answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n")) as server:
        gateway = through(start, server)
        with gateway.connect() as client:
            for _ in range(2):
                response = client.request("GET", "/", headers={"TE": "trailers"})
                assert response.body == b"ok" and not response.all("X-T") and not response.all("Content-Length")
                assert response.trailers in ([], [("X-T", "1")])


@pytest.mark.parametrize("scheme", ["http", "ajp"])
def test_U14_request_trailers_are_never_merged_into_the_head(gateway, scheme):
    with gateway.connect() as client:
        client.send(f"POST /{scheme}/info HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                    "Host: evil\r\nContent-Length: 9\r\nX-Trailer-Field: 1\r\n\r\n")
        response = client.read_response()
        assert response.status in (200, 400)
        assert b"evil" not in response.body and (response.status == 400 or b"X-Trailer-Field" not in response.body)


def test_U16_an_unasked_101_is_502(start):
    with FakeServer(answering(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nframe")) as server:
        gateway = through(start, server)
        assert gateway.get("/").status == 502


def test_U16_an_upgrade_is_refused_or_answered_without_101(start):
    with FakeServer(answering(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno")) as server:
        response = through(start, server).get("/", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        assert response.status in (400, 501)


def test_U18_an_ajp_answer_may_be_cut_at_every_byte(start):
    whole = send_headers(200, [(0xA001, "text/plain"), ("X-Long", "y" * 30)]) + body_chunk(b"first") + body_chunk(b"") + body_chunk(b"second") + end_response()

    def script(connection):
        for _ in range(1 << 30):
            cut = int(connection.read_request().uri[1:])
            connection.send(whole[:cut])
            select.select([], [], [], 0.002)  # so that it really arrives in two pieces; nothing depends on it
            connection.send(whole[cut:])
    with FakeAjp(script) as server:
        gateway = through(start, server)
        with gateway.connect() as client:
            for cut in range(1, len(whole)):
                assert client.request("GET", f"/{cut}").body == b"firstsecond", cut
        assert server.accepted == 1


def test_U18_a_head_that_does_not_fit_a_packet_is_431(start, origin):
    gateway = start({**proxy_to(f"ajp://{origin.ajp}"), "limits": {"header": "16KiB"}})
    with gateway.connect() as client:
        assert client.request("GET", "/info", headers={"X-Big": "y" * 7000}).status == 200
        assert client.request("GET", "/info", headers={"X-Big": "y" * 8190}).status == 431
    assert gateway.get("/info").status == 200
    gateway.counts(1, "pontage_backend_server_up")


def test_U18_larger_packets_take_larger_heads(start, start_origin):
    behind = start_origin(packet_size=65536)
    gateway = start(proxy_to(f"ajp://{behind.ajp}", packet_size="64KiB"))
    assert gateway.get("/info", headers={"X-Big": "y" * 16000}).status == 200
    for size in (65528, 65529, 65530, 65531, 131072, 1 << 20):
        assert len(gateway.request("POST", "/echo", body=bytes(size)).body) == size


def test_U23_a_partial_answer_passes_untouched(start):
    part = b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-4163/100000\r\nContent-Length: 4164\r\n\r\n" + b"a" * 4164
    with FakeServer(answering(part)) as server:
        response = through(start, server).get("/", headers={"Range": "bytes=0-4163", "Accept-Encoding": "gzip"})
        assert response.status == 206 and response.header("Content-Range") == "bytes 0-4163/100000"
        assert response.header("Content-Length") == "4164" and not response.all("Content-Encoding")


# ---- AJP answers that no container should give (ADAPTERS A3, A7, A21 to A25)

BAD_AJP = {
    "wrong magic": b"\x12\x34" + send_headers()[2:],
    "no headers before data": body_chunk(b"data") + end_response(),
    "unknown type": packet(b"\x63"),
    "pong unasked": packet(b"\x09"),
    "empty packet": packet(b""),
    "longer than a packet": b"AB\xff\xff" + b"x" * 65535,
    "unknown header code": packet(b"\x04" + b"\x00\xc8" + text("") + b"\x00\x01" + b"\xa0\x63" + text("v")),
    "header beyond the packet": packet(b"\x04" + b"\x00\xc8" + text("") + b"\x00\x01" + b"\xa0\x01" + b"\x40\x00" + b"abc"),
    "fewer headers than told": packet(b"\x04" + b"\x00\xc8" + text("") + b"\x00\x03" + b"\xa0\x01" + text("text/plain")),
    "string without its end": packet(b"\x04" + b"\x00\xc8" + text("") + b"\x00\x01" + b"\xa0\x01" + b"\x00\x03abcX"),
    "status 99": send_headers(99) + end_response(),
    "status 0": send_headers(0) + end_response(),
    "status 101": send_headers(101) + end_response(),
    "line end in a value": send_headers(200, [("X-A", "a\r\nX-B: evil")]) + end_response(),
    "NUL in a value": send_headers(200, [("X-A", "a\0b")]) + end_response(),
    "space in a name": send_headers(200, [("X A", "b")]) + end_response(),
    "two lengths": send_headers(200, [("Content-Length", "5"), ("Content-Length", "6")]) + body_chunk(b"abcde") + end_response(),
    "length that is none": send_headers(200, [("Content-Length", "5x")]) + body_chunk(b"abcde") + end_response(),
    "ended at once": end_response(),
    "too many headers": b"AB" + b"\x20\x00" + b"\x04\x00\xc8\x00\x00\x00\xff\xff" + b"x" * 8184,
}


@pytest.mark.parametrize("kind", BAD_AJP)
def test_wrong_ajp_answers_are_502_and_the_connection_is_given_up(start, kind):
    def script(connection):
        while True:
            request = connection.read_request()
            connection.send(BAD_AJP[kind] if request.uri == "/bad" else ajp_ok(b"good"))
    with FakeAjp(script) as server:
        gateway = through(start, server)
        with gateway.connect() as client:
            assert client.request("GET", "/good").body == b"good"
            response = client.request("GET", "/bad")
            assert response.status == 502 and b"evil" not in str(response.headers).encode(), kind
            assert client.request("GET", "/good").body == b"good"
        assert server.accepted == 2


LATE_AJP = {
    "two heads": send_headers() + send_headers() + end_response(),
    "chunk that claims more": send_headers() + packet(b"\x03\x10\x00data") + end_response(),
    "chunk that claims less": send_headers() + packet(b"\x03\x00\x02" + b"data\0") + end_response(),
    "data behind the end": send_headers(200, [("Content-Length", "2")]) + body_chunk(b"ok") + end_response() + body_chunk(b"evil"),
    "second answer": ajp_ok(b"ok") + ajp_ok(b"evil"),
    "no more use": send_headers(200, [("Content-Length", "2")]) + body_chunk(b"ok") + end_response(0),
    "end without reuse": send_headers(200, [("Content-Length", "2")]) + body_chunk(b"ok") + packet(b"\x05"),
}


@pytest.mark.parametrize("kind", LATE_AJP)
def test_ajp_answers_that_go_wrong_late_poison_nobody(start, kind):
    def script(connection):
        while True:
            request = connection.read_request()
            connection.send(LATE_AJP[kind] if request.uri == "/bad" else ajp_ok(b"good"))
    with FakeAjp(script) as server:
        gateway = through(start, server)
        response = gateway.get("/bad")
        assert b"evil" not in response.body
        if kind in ("data behind the end", "second answer", "no more use", "end without reuse"):
            assert response.body == b"ok"
        else:
            assert response.status == 502 or response.truncated
        for _ in range(3):
            assert gateway.get("/good").body == b"good"


@pytest.mark.parametrize("end", [b"\0", b""])
def test_ajp_chunks_come_with_and_without_their_last_byte(start, end):
    with FakeAjp(ajp_answering(send_headers() + body_chunk(b"data", end) + end_response())) as server:
        assert through(start, server).get("/").body == b"data"


def test_ajp_asks_for_a_body_that_is_not_there_are_answered_with_its_end(start):
    def script(connection):
        connection.read_request()
        for _ in range(2):
            connection.send(get_body_chunk())
            assert connection.read_data() == b""
        connection.send(ajp_ok(b"fine"))
        connection.ended()
    with FakeAjp(script) as server:
        assert through(start, server).get("/").body == b"fine"


def test_ajp_asks_between_and_behind_the_head_are_answered(start):
    body = bytes(range(256)) * 100

    def script(connection):
        request = connection.read_request()
        have = connection.read_data()
        connection.send(send_headers() + body_chunk(b"so far: "))
        while len(have) < len(body):
            connection.send(get_body_chunk(1000) + body_chunk(b"."))
            have += connection.read_data()
        connection.send(body_chunk(b"all" if have == body else b"wrong") + end_response())
        assert request.all("content-length") == [str(len(body))]
        connection.ended()
    with FakeAjp(script) as server:
        answer = through(start, server).request("POST", "/", body=body).body
        assert answer.startswith(b"so far: .") and answer.endswith(b".all")


def test_an_ajp_upload_that_its_client_leaves_is_never_completed(start):
    seen = threading.Event()
    packets = []

    def script(connection):
        connection.read_request()
        packets.append(connection.read_data())
        connection.send(get_body_chunk())
        seen.set()
        try:
            packets.append(connection.read_packet())
        except EOFError:
            packets.append("closed")
    with FakeAjp(script) as server:
        gateway = through(start, server, request_buffering="off")
        client = gateway.connect()
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n" + b"x" * 8186)
        assert seen.wait(20)
        client.reset()
        eventually(lambda: len(packets) == 2, "the server to learn of it")
        assert packets[1] == "closed"
        eventually(lambda: gateway.metrics().sum("pontage_requests_in_flight") == 0)


def test_one_wrong_answer_does_not_take_the_server_out(start):
    with FakeServer(answering(b"garbage\r\n\r\n")) as server:
        gateway = through(start, server)
        for _ in range(5):
            assert gateway.get("/").status == 502
        gateway.counts(1, "pontage_backend_server_up")


BAD_HTTP = {
    "garbage": b"\x00\x01\x02garbage\r\n\r\n",
    "no version": b"HELLO 200 OK\r\n\r\n",
    "status 99": b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
    "status of letters": b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
    "CR in a value": b"HTTP/1.1 200 OK\r\nX-A: a\rX-B: evil\r\nContent-Length: 0\r\n\r\n",
    "NUL in a value": b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "length too large": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "unknown coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: blegh\r\n\r\nabc",
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(5000)) + b"\r\n",
    "too large a head": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %b\r\n" % (i, b"y" * 10000) for i in range(50)) + b"\r\n",
    "one header too large": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    "name with a space": b"HTTP/1.1 200 OK\r\nX A: y\r\nContent-Length: 0\r\n\r\n",
    "closed": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
}


@pytest.mark.parametrize("kind", BAD_HTTP)
def test_wrong_http_answers_are_502_and_the_connection_is_given_up(start, kind):
    def script(connection):
        while True:
            if connection.read_request().target == "/good":
                connection.send(ok(b"good"))
                continue
            connection.send(BAD_HTTP[kind])
            return
    with FakeServer(script) as server:
        gateway = through(start, server)
        with gateway.connect() as client:
            response = client.request("GET", "/bad")
            assert response.status == 502 and b"evil" not in str(response.headers).encode(), kind
            assert client.request("GET", "/good").body == b"good"
