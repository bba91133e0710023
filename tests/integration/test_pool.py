"""Pools: `max` means max for the whole process, queues are bounded, and nothing is left behind, whoever leaves when."""
import os
import random
import threading

import pytest

from fakes import FakeAjp, FakeServer, ajp_answering, ajp_ok, answering, ok
from harness import ADAPTERS, PATIENCE, Client, amount, backend_to, eventually, in_parallel, proxy_to


@pytest.mark.smoke
@pytest.mark.parametrize("kind, answer, script", [(FakeServer, ok, answering), (FakeAjp, ajp_ok, ajp_answering)], ids=["http", "ajp"])
def test_the_maximum_is_reached_and_never_passed(start, kind, answer, script):
    most, now, peak, lock = 7, 0, 0, threading.Lock()
    full = threading.Barrier(most)

    def counted(request):
        nonlocal now, peak
        with lock:
            now += 1
            peak = max(peak, now)
        if "first" in getattr(request, "target", getattr(request, "uri", "")):
            full.wait(PATIENCE)  # passes only when `most` requests are here at once
        with lock:
            now -= 1
        return answer(b"ok")
    with kind(script(counted)) as server:
        gateway = start({**proxy_to(server.url, connections={"max": most, "idle": most}, queue={"timeout": "60s"}), "workers": 2})
        in_parallel(most, lambda _: gateway.get("/first"))

        def client(_):
            with gateway.connect() as c:
                return [c.request("GET", "/more").status for _ in range(amount(20))]
        assert {s for statuses in in_parallel(50, client) for s in statuses} == {200}
        assert peak == most and server.accepted == most
        metrics = gateway.metrics()
        assert metrics.sum("pontage_backend_connection_reuse_total", result="fresh") == most
        eventually(lambda: gateway.metrics().sum("pontage_backend_connections", state="busy") == 0)
        gateway.counts(most, "pontage_backend_connections", state="idle")


@pytest.mark.smoke
def test_one_connection_serves_one_worker_s_requests(start):
    with FakeServer(answering(ok())) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        for _ in range(100):
            assert gateway.get("/").status == 200
        assert server.accepted == 1
        gateway.counts(99, "pontage_backend_connection_reuse_total", result="reused")


@pytest.mark.smoke
def test_a_connection_moves_to_the_worker_that_needs_it(start):
    with FakeServer(answering(ok())) as server:
        gateway = start({**proxy_to(server.url, connections={"max": 1}), "workers": 2})
        clients = [gateway.connect() for _ in range(16)]  # spread over both workers
        for _ in range(10):
            for client in clients:
                assert client.request("GET", "/").status == 200
        assert server.accepted == 1


def blocked_gateway(start, **backend):
    begun, release = threading.Event(), threading.Event()

    def script(connection):
        while True:
            request = connection.read_request()
            if request.target == "/block":
                begun.set()
                release.wait(PATIENCE)
            connection.send(ok(b"done"))
    server = FakeServer(script)
    gateway = start(proxy_to(server.url, connections={"max": 1}, **backend))
    client = gateway.connect()
    client.send("GET /block HTTP/1.1\r\nHost: a\r\n\r\n")
    assert begun.wait(PATIENCE)
    return gateway, client, release


@pytest.mark.smoke
def test_a_queue_that_waits_too_long_is_503_with_retry_after(start):
    gateway, client, release = blocked_gateway(start, queue={"timeout": "200ms"})
    response = gateway.get("/")
    assert response.status == 503 and response.header("Retry-After")
    release.set()
    assert client.read_response().body == b"done"
    assert gateway.get("/").body == b"done"


@pytest.mark.smoke
def test_a_full_queue_is_503_at_once(start):
    gateway, client, release = blocked_gateway(start, queue={"length": 2, "timeout": "60s"})
    waiting = [gateway.connect() for _ in range(2)]
    for w in waiting:
        w.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: gateway.metrics().sum("pontage_backend_queue_length") == 2, "two to wait")
    assert gateway.get("/").status == 503
    release.set()
    assert client.read_response().body == b"done"
    for w in waiting:
        assert w.read_response().body == b"done"
    gateway.counts(0, "pontage_backend_queue_length")
    gateway.counts(1, "pontage_limit_hits_total", limit="queue")


@pytest.mark.smoke
def test_one_who_waits_and_leaves_gives_up_the_place(start):
    gateway, client, release = blocked_gateway(start, queue={"length": 1, "timeout": "60s"})
    gone = gateway.connect()
    gone.send("GET /gone HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: gateway.metrics().sum("pontage_backend_queue_length") == 1)
    gone.close()
    eventually(lambda: gateway.metrics().sum("pontage_backend_queue_length") == 0, "the place to be free")
    release.set()
    assert client.read_response().body == b"done"


@pytest.mark.smoke
def test_a_client_that_leaves_frees_the_server(start):
    closed = threading.Event()

    def script(connection):
        connection.read_request()
        connection.ended()
        closed.set()
    with FakeServer(script) as server:
        gateway = start(proxy_to(server.url))
        client = gateway.connect()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        eventually(lambda: gateway.metrics().sum("pontage_backend_server_in_flight") == 1)
        client.close()
        assert closed.wait(PATIENCE)
        gateway.counts(0, "pontage_backend_server_errors_total")


def test_gauges_come_back_to_zero_and_no_answer_is_mixed_up(start, start_origin):
    """Many requests at once, each with a token of its own, some of which end at a random point of their life.

    Whatever is answered bears the asker's token; POSTs run at most once; and afterwards nothing is in flight.
    """
    origin = start_origin()
    pool = {"connections": {"max": 20, "idle": 10}, "queue": {"timeout": "30s"}}
    gateway = start({"backends": {name: backend_to(origin, name, **pool) for name in ADAPTERS},
                     "routes": [{"path": f"/{name}/*", "proxy": name} for name in ADAPTERS]})
    threads = 24
    each = amount(10_000, 100_000) // threads
    seed = int(os.environ.get("PONTAGE_SEED", random.randrange(1 << 30)))
    wrong = []

    def one_request(client, rng, token):
        """Returns the client to go on with, or None when this one is used up."""
        adapter = rng.choice(ADAPTERS)
        kind = rng.randrange(4)
        wait = rng.choice([0, 0, 0, 1, 5])
        if kind == 0:
            payload = token.encode() * rng.randrange(1, 2000)
            head = f"POST /{adapter}/echo?token={token}&ms={wait} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(payload)}\r\n\r\n".encode()
            data, expected = head + payload, payload
        elif kind == 1:
            payload = token.encode() * rng.randrange(1, 500)
            head = f"POST /{adapter}/echo?token={token}&ms={wait} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            data, expected = head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(payload), payload), payload
        else:
            data = f"GET /{adapter}/token?token={token}&ms={wait} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
            expected = token.encode()
        fate = rng.randrange(10)
        if fate == 0:  # leaves somewhere in its request
            client.send_what_fits(data[:rng.randrange(len(data))])
        else:
            client.send(data)
        if fate in (0, 1):
            getattr(client, rng.choice(["close", "reset"]))()
            return None
        response = client.read_response()
        if response.status != 200 or response.header("X-Token") != token or response.body.strip() != expected:
            wrong.append((token, data[:80], response.status, response.header("X-Token"), len(response.body), len(expected)))
        return client

    def work(i):
        rng = random.Random(seed * 1000 + i)
        client = None
        for k in range(each):
            if client is None:
                client = Client(gateway.address)
            client = one_request(client, rng, f"t{i}x{k}y")
        if client:
            client.close()

    in_parallel(threads, work)
    assert not wrong, f"seed {seed}: {wrong[:5]}"
    for name, labels in (("pontage_requests_in_flight", {}), ("pontage_backend_server_in_flight", {}), ("pontage_backend_queue_length", {}),
                         ("pontage_connections", {}), ("pontage_backend_connections", {"state": "busy"})):
        eventually(lambda name=name, labels=labels: gateway.metrics().sum(name, **labels) == 0, f"{name} to be 0 again (seed {seed})")
    assert gateway.metrics().sum("pontage_backend_connections", state="idle") <= 3 * 10  # http, ajp and kept
    for adapter in ADAPTERS:
        assert gateway.get(f"/{adapter}/status/200").status == 200


def test_no_post_runs_twice_when_servers_close_idle_connections(start, start_origin):
    """ADAPTERS P5: a server that closes each connection just after an answer; GETs never fail, POSTs never run twice."""
    origin = start_origin()
    gateway = start(proxy_to(f"http://{origin.http}", retry={"budget": "100%"}))
    keys = [f"k{i}" for i in range(amount(400, 20_000))]
    succeeded = set()

    def work(i):
        with gateway.connect() as client:
            for key in keys[i::8]:
                assert client.request("GET", "/fault/after-idle").status == 200
                response = client.request("POST", f"/counter?key={key}", body=b"x")
                assert response.status in (200, 502)
                if response.status == 200:
                    succeeded.add(key)
    in_parallel(8, work)
    assert succeeded
    for key in keys:
        count = gateway.get(f"/counter?key={key}&read=1").json()["count"]
        assert count <= 1 and (count == 1 or key not in succeeded), key
