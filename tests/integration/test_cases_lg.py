"""CASES.md, L and G: balancing, stickiness and the access log."""
import json
import re
import signal
import socket
import threading

import pytest

from fakes import FakeServer, ok, refused_port
from harness import eventually, exchange_raw, proxy_to

pytestmark = pytest.mark.smoke


def test_L01_a_server_that_nobody_asked_yet_is_used(start, origin):
    assert start(proxy_to(f"http://{origin.http}")).get("/status/200").status == 200


@pytest.fixture
def two(start, start_origin):
    """A sticky backend of two origins, a and b."""
    a, b = start_origin(route="a"), start_origin(route="b")

    def begin(scheme="http", **more):
        servers = [{"url": f"{scheme}://{getattr(o, scheme)}", "name": o.route} for o in (a, b)]
        return start(proxy_to(*servers, sticky="JSESSIONID", **more))
    begin.origins = {"a": a, "b": b}
    return begin


def session(response):
    cookie = response.header("Set-Cookie")
    return re.match(r"JSESSIONID=([^;]+)", cookie)[1] if cookie else None


@pytest.mark.parametrize("scheme", ["http", "ajp"])
def test_sessions_stay_on_their_server_by_cookie(two, scheme):
    gateway = two(scheme)
    homes = set()
    for _ in range(10):
        first = gateway.get("/session")
        name = session(first)
        home = first.json()["route"]
        homes.add(home)
        assert name.endswith("." + home)
        for _ in range(5):
            again = gateway.get("/session", headers={"Cookie": f"XJSESSIONID=zz.b; other=1; JSESSIONID={name}"})
            assert again.json()["route"] == home and not again.json()["new"] and session(again) is None
    assert homes == {"a", "b"}


@pytest.mark.parametrize("scheme", ["http", "ajp"])
@pytest.mark.parametrize("path", ["/session;jsessionid=0123456789abcdef.{}", "/x;jsessionid=0123456789abcdef.{}/session"])
def test_sessions_stay_on_their_server_by_path(two, scheme, path):
    gateway = two(scheme)
    for home in ("a", "b") * 3:
        assert gateway.get(path.format(home)).json()["route"] == home


def test_quoted_and_doubled_cookies_find_their_server(two):
    gateway = two()
    for home in ("a", "b") * 2:
        assert gateway.get("/session", headers={"Cookie": f'JSESSIONID="1.{home}"'}).json()["route"] == home
        assert gateway.get("/session", headers=[("Cookie", "JSESSIONID=1.gone"), ("Cookie", f"JSESSIONID=2.{home}")]).json()["route"] == home


@pytest.mark.parametrize("value", ["1.gone", "1.127.0.0.1:22", "1", "", ".", "..", "1.", "1.a/../b", "%00.a\\", "1." + "a" * 5000])
def test_L03_a_session_of_no_server_gets_a_new_one(two, value):
    response = two().get("/session", headers={"Cookie": f"JSESSIONID={value}"})
    assert response.status == 200 and response.json()["route"] in ("a", "b")


def test_L03_a_session_of_a_dead_server_moves(two):
    gateway = two()
    two.origins["b"].kill()
    response = gateway.get("/session", headers={"Cookie": "JSESSIONID=0123456789abcdef.b"})
    assert response.status == 200 and response.json()["route"] == "a" and session(response).endswith(".a")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_L07_one_of_two_refuses_and_nobody_notices(start, origin, method):
    gateway = start(proxy_to(f"http://127.0.0.1:{refused_port()}", f"http://{origin.http}"))
    body = b"once" if method == "POST" else None
    for _ in range(40):
        response = gateway.request(method, "/echo", body=body)
        assert response.status == 200 and response.body == (body or b"")


def test_L07_all_refuse_and_it_is_told_at_once_until_one_is_back(start):
    with FakeServer(None) as server:
        port = server.port
    gateway = start(proxy_to(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{refused_port()}"))
    for _ in range(4):
        assert gateway.get("/").status in (502, 503)

    def script(connection):
        while True:
            connection.read_request()
            connection.send(ok(b"back"))
    back = FakeServer(script)
    back.listener.close()
    back.listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=back._accept, daemon=True).start()
    try:
        eventually(lambda: gateway.get("/").status == 200, "the server that is back")
    finally:
        back.stop()


def test_weights_are_kept(start, start_origin):
    a, b = start_origin(route="a"), start_origin(route="b")
    gateway = start({**proxy_to({"url": f"http://{a.http}", "name": "a", "weight": 3}, {"url": f"http://{b.http}", "name": "b"}), "workers": 1})
    routes = [gateway.get("/session").json()["route"] for _ in range(40)]
    assert routes.count("a") == 30


def test_weight_0_takes_only_its_sessions(start, start_origin):
    a, b = start_origin(route="a"), start_origin(route="b")
    gateway = start(proxy_to({"url": f"http://{a.http}", "name": "a"}, {"url": f"http://{b.http}", "name": "b", "weight": 0}, sticky="JSESSIONID"))
    assert {gateway.get("/session").json()["route"] for _ in range(20)} == {"a"}
    assert gateway.get("/session", headers={"Cookie": "JSESSIONID=1.b"}).json()["route"] == "b"


# ---- G: the access log

@pytest.fixture(params=["combined", "json"])
def logged(request, start, origin, site, tmp_path):
    """A gateway that logs, and a way to wait for the lines of so many requests."""
    file = tmp_path / "access.log"
    gateway = start({"access_log": {"file": str(file), "format": request.param},
                     "backends": {"app": {"servers": [{"url": f"http://{origin.http}", "name": "a"}]}},
                     "routes": [{"path": "/app/*", "proxy": "app"}, {"files": str(site)}]})

    def lines(count):
        read = lambda: file.read_bytes().split(b"\n")[:-1] if file.exists() else []
        return eventually(lambda: len(read()) >= count and read(), f"{count} lines in the log")
    gateway.log_lines, gateway.format = lines, request.param
    gateway.log_file = file
    return gateway


@pytest.mark.parametrize("agent", [b'foo " bar', b"a\x1b[31m", b"\xff\xfe", b"back\\slash", b"\x80\xe2\x82"])
def test_G01_what_clients_send_is_escaped_in_the_log(logged, agent):
    with logged.connect() as client:
        client.send(b"GET /ten.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: " + agent + b"\r\nConnection: close\r\n\r\n")
        response = client.read_response()
        assert response.status in (200, 400)
    logged.get("/ten.txt")
    lines = logged.log_lines(2)
    assert len(lines) == 2
    for line in lines:
        assert all(0x20 <= byte < 0x7F for byte in line), line
        if logged.format == "json":
            json.loads(line)
        else:
            assert len(re.findall(rb'(?<!\\)"', line)) == 6, line


def fields(logged, line):
    if logged.format == "json":
        told = json.loads(line)
        return str(told["status"]), told.get("uri"), int(told["bytes_out"])
    match = re.match(rb'\S+ \S+ \S+ \[[^\]]+\] "(?:\S+ (\S+)[^"]*|[^"]*)" (\d{3}) (\d+|-)', line)
    assert match, line
    return match[2].decode(), (match[1] or b"").decode(), int(match[3].replace(b"-", b"0"))


def test_G03_a_refused_request_is_logged(logged):
    response, _ = exchange_raw(logged, b"GET /\x01\x02 HTTP/1.1\r\nHost: a\r\nX: \x1b[31m\r\n\r\n")
    assert response.status == 400
    line = logged.log_lines(1)[0]
    assert all(0x20 <= byte < 0x7F for byte in line)
    assert fields(logged, line)[0] == "400"
    assert "\x1b" not in logged.output() and "\x01" not in logged.output()


def test_G03_a_request_that_its_client_left_is_logged_as_499(logged):
    client = logged.connect()
    client.send("GET /app/bytes/10?ms=5000 HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: logged.metrics().sum("pontage_backend_server_in_flight") == 1)
    client.close()
    assert fields(logged, logged.log_lines(1)[0])[0] == "499"
    logged.counts(0, "pontage_backend_server_errors_total")


def test_the_log_tells_status_target_and_bytes(logged):
    for path in ("/ten.txt", "/app/bytes/1000", "/none", "/app/status/418"):
        logged.get(path)
    told = {uri: (status, size) for status, uri, size in (fields(logged, line) for line in logged.log_lines(4))}
    assert {uri: status for uri, (status, _) in told.items()} == {
        "/ten.txt": "200", "/app/bytes/1000": "200", "/none": "404", "/app/status/418": "418"}
    assert told["/app/bytes/1000"][1] >= 1000


def test_usr1_reopens_the_log(logged):
    logged.get("/ten.txt")
    logged.log_lines(1)
    moved = logged.log_file.with_suffix(".1")
    logged.log_file.rename(moved)
    logged.signal(signal.SIGUSR1)
    eventually(logged.log_file.exists, "the new log file")
    logged.get("/fifty.txt")
    assert b"fifty" in logged.log_lines(1)[0]
    assert b"fifty" not in moved.read_bytes()
