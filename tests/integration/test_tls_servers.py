"""TLS towards servers (`https://`), and what sends browsers to TLS: redirects, HSTS, 421."""
import json
import re
import socket
import subprocess

import pytest

from certificates import Authority
from fakes import FakeServer
from harness import SCALE, amount, backend_to, eventually, in_parallel, proxy_to, run_cli
from tls import TlsClient, context_for, tls_config

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pairs(authority):
    return {"local": authority.sign("local", "localhost", "127.0.0.1"), "a": authority.sign("a", "a.example"),
            "b": authority.sign("b", "b.example"), "gateway": authority.sign("gateway", "gateway.example")}


@pytest.fixture
def secure(start, origin, pairs):
    """Starts a server that speaks TLS and passes all to the origin."""
    def begin(pair="local", **tls):
        return start(tls_config(pairs[pair], config={"backends": {"o": backend_to(origin, "http")}, "routes": [{"proxy": "o"}]}, **tls))
    return begin


def url(server, host="127.0.0.1"):
    return f"https://{host}:{server.address[1]}"


def towards(server, authority, host="127.0.0.1", **tls):
    return proxy_to({"url": url(server, host), "name": "s"}, tls={"ca": str(authority.cert), **tls})


def handshakes(gateway, result):
    return gateway.metrics().sum("pontage_backend_tls_handshakes_total", backend="app", server="s", result=result)


# ---- whom the gateway believes

@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_that_proves_its_name_is_served_from(start, secure, authority, host):
    gateway = start(towards(secure(), authority, host))
    assert gateway.get("/info").status == 200
    assert handshakes(gateway, "full") == 1


def test_a_server_without_proof_gets_no_request(start, secure, authority, pairs, tmp_path):
    server = secure("a")
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other", "stranger")
    for config, why in [(towards(server, authority), "IP address mismatch"),
                        (towards(server, authority, "localhost"), "hostname mismatch"),
                        (towards(server, authority, server_name="b.example"), "hostname mismatch"),
                        (towards(server, stranger, server_name="a.example"), "unable to get local issuer certificate"),
                        (proxy_to({"url": url(server), "name": "s"}, tls={"server_name": "a.example"}), "local issuer")]:
        gateway = start(config)
        assert gateway.get("/info").status == 502
        assert handshakes(gateway, "failed") >= 1 and handshakes(gateway, "full") == 0
        eventually(lambda: "no TLS could be agreed on" in gateway.output() and why in gateway.output(), why)
    assert server.metrics().sum("pontage_requests_total") == 0


def test_the_expected_name_may_differ_from_the_url(start, secure, authority):
    assert start(towards(secure("a"), authority, server_name="a.example")).get("/info").status == 200


def test_without_verify_anybody_is_believed(start, secure, authority):
    gateway = start(proxy_to({"url": url(secure("a")), "name": "s"}, tls={"verify": False}))
    assert gateway.get("/info").status == 200


def test_the_gateway_shows_its_own_certificate_where_asked(start, secure, authority, pairs):
    server = secure(client_ca=str(authority.cert), client_auth="required", forward_cert="client_cert")
    assert start(towards(server, authority)).get("/info").status == 502
    pair = pairs["gateway"]
    shown = start(towards(server, authority, cert=str(pair.cert), key=str(pair.key))).get("/info")
    assert shown.status == 200 and b"client-cert" in shown.body.lower()


# ---- sessions, pools, bodies

def test_a_new_connection_resumes_the_session(start, secure, authority):
    server = secure()
    config = towards(server, authority)
    config["backends"]["app"]["connections"] = {"idle": 0}
    gateway = start({**config, "workers": 1})
    for _ in range(4):
        assert gateway.get("/info").status == 200
    assert handshakes(gateway, "full") == 1 and handshakes(gateway, "resumed") == 3
    server.counts(3, "pontage_tls_handshakes_total", result="resumed")


def test_connections_are_pooled_and_go_where_somebody_waits(start, secure, authority):
    config = towards(secure(), authority)
    config["backends"]["app"].update(connections={"max": 2, "idle": 2}, queue={"timeout": "60s"})
    gateway = start({**config, "workers": 3})

    def client(number):
        with gateway.connect() as c:
            return [c.request("GET", f"/bytes/{number * 100 + i}").body for i in range(amount(20))]
    for number, bodies in enumerate(in_parallel(12, client)):
        assert [len(body) for body in bodies] == [number * 100 + i for i in range(amount(20))]
    metrics = gateway.metrics()
    assert metrics.sum("pontage_backend_connection_reuse_total", result="fresh") == \
        metrics.sum("pontage_backend_tls_handshakes_total") >= 2
    eventually(lambda: gateway.metrics().sum("pontage_backend_connections", state="busy") == 0)


@pytest.mark.parametrize("size", [0, 1, 16384, 100_000, 3_000_000])
def test_bodies_arrive_whole_both_ways(start, secure, authority, size):
    body = bytes(i * 31 % 251 for i in range(size))
    gateway = start(towards(secure(), authority))
    for chunked in (False, True):
        assert gateway.request("POST", "/echo", body=body, chunked=chunked).body == body
    assert len(gateway.get(f"/bytes/{size}").body) == size


def test_a_reload_that_asks_for_more_trust_leaves_no_connection_from_before(start, secure, authority):
    server = secure("a")  # its name is not in the URL
    before = {**proxy_to({"url": url(server), "name": "s"}, tls={"verify": False}), "workers": 1}
    gateway = start(before)
    with gateway.connect() as client:
        for _ in range(3):
            assert client.request("GET", "/info").status == 200
    assert handshakes(gateway, "full") == 1
    gateway.reload(before)
    assert gateway.get("/info").status == 200 and handshakes(gateway, "full") == 1, "the same terms: the same connection"
    gateway.reload({**towards(server, authority), "workers": 1})
    assert gateway.get("/info").status == 502


# ---- servers that fail

def test_a_server_without_tls_is_a_bad_gateway_and_is_named(start, authority):
    def script(connection):
        connection.more()
        connection.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    with FakeServer(script) as server:
        gateway = start(proxy_to({"url": f"https://127.0.0.1:{server.port}", "name": "s"}, tls={"ca": str(authority.cert)}))
        assert gateway.get("/").status == 502
        eventually(lambda: "wrong version number" in gateway.output(), "the reason")


def test_a_handshake_that_stalls_ends_with_the_connects_deadline(start, authority):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = start(proxy_to({"url": f"https://127.0.0.1:{silent.getsockname()[1]}", "name": "s"},
                                 tls={"ca": str(authority.cert)}, timeouts={"connect": f"{300 * SCALE}ms"}))
        assert gateway.get("/").status == 504
        assert handshakes(gateway, "failed") >= 1
        gateway.counts(0, "pontage_backend_connections")


def test_a_client_that_leaves_during_the_handshake_frees_its_place(start, authority):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = start(proxy_to({"url": f"https://127.0.0.1:{silent.getsockname()[1]}", "name": "s"},
                                 tls={"ca": str(authority.cert)}, timeouts={"connect": "1h"}))
        with gateway.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            gateway.counts(1, "pontage_backend_connections", state="busy")
        gateway.counts(0, "pontage_backend_connections", state="busy")
        assert handshakes(gateway, "failed") == 0


# ---- what `check` says

@pytest.mark.parametrize("backend, servers, says", [
    ({"tls": {"ca": "/nowhere.pem"}}, ["https://a.example"], "`/nowhere.pem`"),
    ({"tls": {"verify": False}}, ["https://a.example"], "is believed to be the server"),
    ({"tls": {"verify": False}}, ["http://a.example"], "has no https server"),
    ({}, ["https+unix:/run/a.sock"], "`server_name`"),
    ({"tls": {"key": "/k.pem"}}, ["https://a.example"], "a `key` needs the `cert`"),
], ids=["ca", "verify", "no-https", "unix", "key"])
def test_check_names_what_is_wrong(tmp_path, backend, servers, says):
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"listeners": [":0"], **proxy_to(*servers, **backend)}))
    done = run_cli("check", "-c", str(file))
    assert says in done.stdout + done.stderr


# ---- sending browsers to TLS

@pytest.mark.parametrize("port, target, location", [
    (443, "/a%20b?x=1&y", "https://a.example/a%20b?x=1&y"), (8443, "/", "https://a.example:8443/"),
    (443, "/?", "https://a.example/?"), (443, "//evil.example/", "https://a.example//evil.example/"),
    (443, "http://a.example/whole?q", "https://a.example/whole?q")])
def test_redirect_to_https_keeps_host_path_and_query(start, port, target, location):
    gateway = start({"listeners": [{"bind": "127.0.0.1:0", "redirect_to_https": port}], "routes": [{"respond": "clear"}]})
    for method in ("GET", "POST"):
        response = gateway.request(method, target, host="a.example:80", body=b"x" if method == "POST" else None)
        assert response.status == 308 and response.header("location") == location
    challenge = gateway.get("/.well-known/acme-challenge/token", host="a.example")
    assert challenge.status == 200 and challenge.body == b"clear"


@pytest.mark.parametrize("target", ["/.well-known/acme-challenge/../../admin", "/.well-known/acme-challenge/%2e%2e/%2e%2e/admin",
                                    "/.well-known/acme-challenge", "/x/..//.well-known/acme-challenge/../admin"])
def test_no_spelling_of_a_path_gets_past_the_redirect(start, target):
    gateway = start({"listeners": [{"bind": "127.0.0.1:0", "redirect_to_https": 443}], "routes": [{"respond": "clear"}]})
    with gateway.connect() as client:
        assert client.request("GET", "/.well-known/acme-challenge/x").status == 200
        assert client.request("GET", target).status in (308, 400)
        assert client.request("GET", "/.well-known/acme-challenge/x").status == 200


@pytest.mark.parametrize("head", ["GET /admin HTTP/1.0\r\n\r\n", "GET /admin HTTP/1.1\r\nHost:\r\n\r\n", "GET /admin HTTP/1.1\r\nHost: .\r\n\r\n"],
                         ids=["none", "empty", "dot"])
def test_without_a_host_nobody_is_sent_anywhere_nor_served(start, head):
    gateway = start({"listeners": [{"bind": "127.0.0.1:0", "redirect_to_https": 443}], "routes": [{"respond": "clear"}]})
    with gateway.connect() as client:
        client.send(head)
        assert client.read_response().status == 400


def test_redirect_to_https_believes_a_trusted_proxy_that_it_was_https(start):
    gateway = start({"listeners": [{"bind": "127.0.0.1:0", "redirect_to_https": 443}], "routes": [{"respond": "clear"}],
                     "trusted_proxies": ["127.0.0.0/8"]})
    assert gateway.get("/", headers=[("X-Forwarded-Proto", "https")]).status == 200
    assert gateway.get("/", headers=[("X-Forwarded-Proto", "http")]).status == 308
    assert gateway.get("/").status == 308


def test_hsts_is_said_over_tls_alone_and_once(start, authority, pairs, site):
    own = {"Strict-Transport-Security": "max-age=1"}
    routes = [{"path": "/own", "respond": "x", "response_headers": {"set": own}}, {"path": "/r", "respond": "y"}, {"files": str(site)}]
    config = tls_config(pairs["a"], config={"routes": routes}, hsts="365d")
    config["listeners"].append("localhost:0")
    gateway = start(config)
    clear = gateway.addresses[1]
    with TlsClient(gateway, context_for(authority)) as client:
        for path in ("/r", "/3k.bin", "/ten.txt", "/nothing"):
            assert client.request("GET", path, host="a.example").all("strict-transport-security") == ["max-age=31536000"], path
        assert client.request("GET", "/own", host="a.example").all("strict-transport-security") == ["max-age=1"]
    seen = subprocess.run(["curl", "-s", "--http2", "--cacert", str(authority.cert), "--connect-to", f"::127.0.0.1:{gateway.address[1]}",
                           "-o", "/dev/null", "-D", "-", "https://a.example/3k.bin", "https://a.example/own"], capture_output=True, text=True)
    assert "HTTP/2 200" in seen.stdout
    assert re.findall(r"strict-transport-security: (\S+)", seen.stdout) == ["max-age=31536000", "max-age=1"]
    gateway.address = clear
    assert gateway.get("/r").header("strict-transport-security") is None


def test_a_request_on_another_hosts_connection_is_misdirected(start, authority, pairs):
    gateway = start(tls_config(pairs["a"], pairs["b"]))
    with TlsClient(gateway, context_for(authority), "a.example") as client:
        assert client.request("GET", "/", host="a.example").status == 200
        assert client.request("GET", "/", host="b.example").status == 421
        assert client.request("GET", "/", host="A.EXAMPLE:8443").status == 200
        assert client.request("GET", "/", host="nobody.example").status == 200, "no certificate is better"
