"""Start, reload, drain and stop; crashes of servers; running out of descriptors."""
import re
import signal
import socket
import threading

import pytest

from fakes import FakeServer, ok
from harness import PATIENCE, SCALE, BINARY, Client, eventually, proxy_to

pytestmark = pytest.mark.smoke


def respond(text, **more):
    return {"routes": [{"name": "all", "respond": text}], **more}


# ---- reload

def test_reload_keeps_connections_and_counters(start):
    gateway = start(respond("one"))
    with gateway.connect() as client:
        for _ in range(3):
            assert client.request("GET", "/").body == b"one"
        gateway.counts(3, "pontage_requests_total")
        gateway.reload(respond("two"))
        assert client.request("GET", "/").body == b"two"
    gateway.counts(4, "pontage_requests_total")
    gateway.counts(1, "pontage_config_last_reload_success")


def test_reload_keeps_pooled_connections(start):
    def script(connection):
        while True:
            connection.read_request()
            connection.send(ok(str(connection.number)))
    with FakeServer(script) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        assert gateway.get("/").body == b"1"
        gateway.reload()
        assert gateway.get("/").body == b"1"


def test_a_bad_file_keeps_the_old_configuration(start):
    gateway = start(respond("one"))
    gateway.file.write_text("listeners: [\n")
    gateway.reload(good=False)
    gateway.counts(0, "pontage_config_last_reload_success")
    assert gateway.get("/").body == b"one"
    gateway.reload(respond("two"))
    gateway.counts(1, "pontage_config_last_reload_success")
    assert gateway.get("/").body == b"two"


def test_a_listener_that_cannot_be_bound_refuses_the_reload(start):
    gateway = start(respond("one"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        gateway.write(respond("two", listeners=["127.0.0.1:0", "127.0.0.1:%d" % taken.getsockname()[1]]))
        gateway.reload(good=False)
    assert gateway.get("/").body == b"one"


def test_a_request_ends_on_the_configuration_it_began_with(start):
    begun, release = threading.Event(), threading.Event()

    def script(connection):
        connection.read_request()
        begun.set()
        release.wait(PATIENCE)
        connection.send(ok(b"old"))
    with FakeServer(script) as server:
        gateway = start(proxy_to(server.url))
        with gateway.connect() as client:
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert begun.wait(PATIENCE)
            gateway.reload(respond("new"))
            release.set()
            assert client.read_response().body == b"old"
            assert client.request("GET", "/").body == b"new"


def test_many_reloads_under_load_lose_nothing(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}"))
    stop = threading.Event()
    failures, served = [], []

    def load():
        with gateway.connect() as client:
            while not stop.is_set():
                response = client.request("GET", "/bytes/100")
                served.append(1)
                if response.status != 200 or len(response.body) != 100:
                    failures.append(response)
                    return
    threads = [threading.Thread(target=load, daemon=True) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(15):
        config = proxy_to(f"http://{origin.http}")
        config["routes"].insert(0, {"path": f"/never{i}", "respond": "x"})
        gateway.reload(config)
    stop.set()
    for t in threads:
        t.join(PATIENCE)
    assert not failures and served
    gateway.counts(15, "pontage_config_reloads_total", result="ok")


# ---- drain

def slow_exchange(start, **config):
    """A gateway with a request in flight; returns (gateway, client, release)."""
    begun, release = threading.Event(), threading.Event()

    def script(connection):
        connection.read_request()
        begun.set()
        release.wait(PATIENCE)
        connection.send(ok(b"finished"))
    server = FakeServer(script)
    gateway = start({**proxy_to(server.url), **config})
    client = gateway.connect()
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert begun.wait(PATIENCE)
    return gateway, client, release


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT, signal.SIGINT])
def test_a_drain_lets_requests_finish(start, number):
    # One worker: that the idle connection is closed says that the busy one's session knows of the drain, too.
    gateway, client, release = slow_exchange(start, workers=1)
    idle = gateway.connect()
    gateway.signal(number)
    # No new connection is taken, the idle one ends, the busy one is served to its end.
    eventually(lambda: refuses(gateway), "the listener to close")
    assert idle.closed()
    release.set()
    response = client.read_response()
    assert response.body == b"finished" and response.header("Connection").lower() == "close"
    assert client.closed()
    assert gateway.wait() == 0


def refuses(gateway):
    """Whether a new connection is refused, or closed before anything was said."""
    try:
        with Client(gateway.address, timeout=2) as client:
            return not client.silent(0.05) and client.closed()
    except ConnectionRefusedError:
        return True


def test_readyz_says_so_while_a_drain_is_delayed(start):
    gateway = start({"shutdown": {"delay": "60s"}, "routes": [{"respond": "x"}]})
    assert gateway.admin_get("/readyz")[0] == 200 and gateway.admin_get("/healthz")[0] == 200
    gateway.signal(signal.SIGTERM)
    eventually(lambda: gateway.admin_get("/readyz")[0] == 503, "readyz to say no")
    assert gateway.get("/").body == b"x"  # still served
    gateway.signal(signal.SIGTERM)
    assert gateway.wait() == 0


def test_the_drain_s_deadline_cuts_what_is_left(start):
    gateway, client, _ = slow_exchange(start, shutdown={"deadline": f"{200 * SCALE}ms"})
    gateway.signal(signal.SIGTERM)
    assert gateway.wait() == 0
    with pytest.raises((EOFError, OSError)):
        client.read_response()


def test_a_second_signal_stops_at_once(start):
    gateway, client, _ = slow_exchange(start, shutdown={"deadline": "10m"})
    gateway.signal(signal.SIGTERM)
    eventually(lambda: refuses(gateway), "the drain to begin")
    gateway.signal(signal.SIGTERM)
    assert gateway.wait() == 0


# ---- servers that die

@pytest.mark.parametrize("scheme", ["http", "ajp"])
def test_a_server_killed_in_mid_request_is_502_and_its_successor_is_found(start, start_origin, scheme):
    origin = start_origin()
    gateway = start({**proxy_to(f"{scheme}://{getattr(origin, scheme)}"), "workers": 1})
    assert gateway.get("/status/200").status == 200
    with gateway.connect() as client:
        client.send("POST /status/200?ms=20000 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        eventually(lambda: gateway.metrics().sum("pontage_backend_server_in_flight") == 1)
        origin.kill()
        assert client.read_response().status == 502
    assert gateway.get("/status/200").status in (502, 503)
    start_origin(http=origin.http, ajp=origin.ajp)
    eventually(lambda: gateway.get("/status/200").status == 200, "the new server", 2 * PATIENCE)


# ---- running out of descriptors

# UBSan asks by pipe(2) whether an object's memory is readable, and takes a refusal for a bad object.
@pytest.mark.skipif(any(name in str(BINARY) for name in ("tsan", "asan")),
                    reason="the sanitizers need descriptors themselves")
def test_a_gateway_out_of_descriptors_sheds_and_recovers(start, origin, site):
    gateway = start({"backends": {"app": {"servers": [f"http://{origin.http}"]}},
                     "routes": [{"path": "/app/*", "proxy": "app"}, {"files": str(site)}]},
                    prefix=("prlimit", "--nofile=64:64"))
    clients = []
    for _ in range(100):
        client = Client(gateway.address, timeout=5)
        try:
            client.send("GET /app/bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n")
        except OSError:
            pass
        clients.append(client)
    answered = 0
    for client in clients:
        client.socket.settimeout(0.1 * SCALE)
        try:
            client.read_response()
            answered += 1
        except (EOFError, OSError, AssertionError):
            pass
    assert answered >= 10
    for client in clients:
        client.close()
    assert gateway.alive()
    eventually(lambda: try_get(gateway, "/app/bytes/10") == 200, "a proxied request to be served again")
    eventually(lambda: try_get(gateway, "/3m.bin") == 200, "a file to be served again")


def try_get(gateway, path):
    try:
        with Client(gateway.address, timeout=5) as client:
            return client.request("GET", path).status
    except (EOFError, OSError):
        return None


def test_the_connection_limit_sheds_and_recovers(start):
    gateway = start(respond("x", limits={"connections": 10}))
    clients = [gateway.connect() for _ in range(10)]
    for client in clients:
        assert client.request("GET", "/").body == b"x"
    with gateway.connect() as client:
        client.send_what_fits(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try:
            assert client.read_response().status == 503
        except (EOFError, ConnectionResetError):
            pass  # closed without a word is fine too
    for client in clients:
        client.close()
    eventually(lambda: try_get(gateway, "/") == 200, "room again")


def test_descriptors_do_not_leak(start, origin, site):
    gateway = start({**proxy_to(f"http://{origin.http}"), "workers": 1})
    for _ in range(20):
        gateway.get("/bytes/100")
    def beside_the_pool():
        return gateway.descriptors() - gateway.metrics().sum("pontage_backend_connections")
    before = beside_the_pool()
    for i in range(200):
        if i % 3 == 0:
            client = gateway.connect()
            client.send("GET /bytes/1000?ms=1 HTTP/1.1\r\nHost: a\r\n\r\n")
            client.reset()
        else:
            gateway.get("/fault/short" if i % 3 == 1 else "/bytes/100")
    eventually(lambda: beside_the_pool() <= before + 1, f"no more than {before} descriptors")


# ---- listeners

def test_unix_listeners_serve(start, tmp_path):
    path = tmp_path / "s"
    gateway = start(respond("unix", listeners=[f"unix:{path}", "127.0.0.1:0"]))
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(str(path))
        s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        data = b""
        while got := s.recv(65536):
            data += got
    assert data.startswith(b"HTTP/1.1 200") and data.endswith(b"unix")
    gateway.stop()


def test_unix_servers_are_reached(start, tmp_path):
    path = tmp_path / "app.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65536)
                connection.sendall(ok(b"by unix"))
    threading.Thread(target=serve, daemon=True).start()
    try:
        assert start(proxy_to(f"http+unix:{path}")).get("/").body == b"by unix"
    finally:
        listener.close()


def test_half_close_is_refused_unless_allowed(start, origin):
    for policy, answered in (("allow", True), ("refuse", False)):
        gateway = start({**proxy_to(f"http://{origin.http}"), "listeners": [{"bind": "127.0.0.1:0", "half_close": policy}]})
        for _ in range(20):  # the end comes together with the request, or a little later
            with gateway.connect() as client:
                client.send("GET /bytes/10?ms=50 HTTP/1.1\r\nHost: a\r\n\r\n")
                client.finish_sending()
                if answered:
                    assert len(client.read_response().body) == 10
                else:
                    assert client.closed()


def test_the_log_names_what_happens(start):
    gateway = start(respond("x"))
    gateway.stop()
    assert re.search("ready", gateway.output()) and re.search("stopped", gateway.output())
