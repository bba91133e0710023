"""The PROXY protocol, both directions: who is believed what, and what servers are told."""
import json
import select
import socket
import ssl

import pytest

import proxies
from certificates import Authority
from fakes import FakeServer, answering, ok
from h2client import H2Client
from harness import PATIENCE, Client, eventually, in_parallel, proxy_to, run_cli, to_yaml
from proxies import AUTHORITY, SSL_CIPHER, SSL_CN, SSL_VERSION, UNIQUE_ID, ProxiedServer, field, local, tls_field, v1, v2
from tls import context_for, listener

pytestmark = pytest.mark.smoke

TRUST = {"trust": ["127.0.0.0/8"]}
BEHIND = [{"bind": "127.0.0.1:0", "proxy_protocol": TRUST}]


def behind_header(gateway, header, context=None, name="a.example"):
    """A client that sends the header first, then TLS if there is a context."""
    client = Client(gateway.address)
    client.send(header)
    if context:
        client.socket = context.wrap_socket(client.socket, server_hostname=name)
    return client


class ViaProxy(H2Client):
    """HTTP/2 behind a header: the address is given with the bytes to be sent first."""

    def __init__(self, gateway, header, context=None):
        class Prepared(socket.socket):
            def connect(self, address):
                super().connect(address)
                self.sendall(header)
        plain = socket.socket
        socket.socket = Prepared
        try:
            super().__init__(gateway, tls=context, name="a.example")
        finally:
            socket.socket = plain


@pytest.fixture
def app():
    """A server that keeps the requests it gets."""
    def script(connection):
        while True:
            server.note(connection.read_request())
            connection.send(ok(b"hello"))
    with FakeServer(script) as server:
        yield server


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pairs(authority):
    return {"a": authority.sign("a", "a.example"), "client": authority.sign("client", "client.example")}


def told(app):
    """(X-Forwarded-For, -Proto, -Port) of the last request."""
    request = app.requests[-1]
    return tuple(request.all(f"X-Forwarded-{what}")[0] for what in ("For", "Proto", "Port"))


# ---- in

@pytest.mark.parametrize("header", [v1(), v2(), v1("2001:db8::7", "2001:db8::1"), v2("2001:db8::7", "2001:db8::1")])
def test_the_told_client_is_the_client(start, app, tmp_path, header):
    log = tmp_path / "access.log"
    gateway = start({**proxy_to(app.url), "listeners": BEHIND, "access_log": {"file": str(log), "format": "json"}})
    ip = "2001:db8::7" if b"TCP6" in header or header[13:14] == b"\x21" else "192.0.2.7"
    with behind_header(gateway, header) as client:
        for _ in range(2):
            assert client.request("GET", "/", host="a.example").body == b"hello"
            assert told(app) == (ip, "http", "443")
    lines = eventually(lambda: log.exists() and log.read_text().count("\n") == 2 and log.read_text().splitlines(), "two lines")
    for line in map(json.loads, lines):
        assert line["client"] == ip and line["peer"] == ip
    gateway.counts(1, "pontage_proxy_headers_total", result="v1" if header.startswith(b"PROXY") else "v2")
    assert gateway.metrics().sum("pontage_connections", protocol="proxy") == 0


def test_trusted_proxies_are_walked_from_the_told_client_on(start, app):
    gateway = start({**proxy_to(app.url), "listeners": BEHIND, "trusted_proxies": ["192.0.2.0/24"]})
    theirs = {"X-Forwarded-For": "198.51.100.9", "X-Forwarded-Proto": "https"}
    with behind_header(gateway, v1()) as client:
        assert client.request("GET", "/", headers=theirs).status == 200
    assert told(app)[:2] == ("198.51.100.9, 192.0.2.7", "https")
    # The proxy that sent the header is not who sent the request.
    with behind_header(gateway, v1("203.0.113.1")) as client:
        assert client.request("GET", "/", headers=theirs).status == 200
    assert told(app)[:2] == ("203.0.113.1", "http")


@pytest.mark.parametrize("header", [local(), proxies.SIGNATURE + b"\x20\x11\0\1x", proxies.SIGNATURE + b"\x21\0\0\0", b"PROXY UNKNOWN\r\n",
                                    b"PROXY UNKNOWN ::1 ::2 1 2\r\n"])
def test_without_a_told_client_the_connection_counts(start, app, header):
    gateway = start({**proxy_to(app.url), "listeners": BEHIND})
    with behind_header(gateway, header) as client:
        assert client.request("GET", "/", host="a.example").status == 200
    assert told(app) == ("127.0.0.1", "http", str(gateway.address[1]))


def test_tls_at_the_proxy_is_https(start, app):
    listeners = [{**BEHIND[0], "redirect_to_https": 443}]
    gateway = start({**proxy_to(app.url), "listeners": listeners})
    with behind_header(gateway, v2(fields=tls_field())) as client:
        assert client.request("GET", "/", host="a.example").status == 200
    assert told(app) == ("192.0.2.7", "https", "443")
    for fields in (b"", tls_field(client=0)):
        with behind_header(gateway, v2(fields=fields)) as client:
            assert client.request("GET", "/", host="a.example").status == 308


def test_tls_and_http2_follow_the_header(start, app, authority, pairs):
    gateway = start({**proxy_to(app.url), "listeners": [{**listener(pairs["a"]), "proxy_protocol": TRUST}]})
    with behind_header(gateway, v1(), context_for(authority)) as client:
        assert client.request("GET", "/", host="a.example").body == b"hello"
    assert told(app)[:2] == ("192.0.2.7", "https")
    with ViaProxy(gateway, v2(), context_for(authority, alpn=["h2"])) as client:
        assert client.request("GET", "/", host="a.example").body == b"hello"
    assert told(app)[:2] == ("192.0.2.7", "https")
    gateway.counts(2, "pontage_tls_handshakes_total", result="full")


def test_http2_in_the_clear_follows_the_header(start, app):
    gateway = start({**proxy_to(app.url), "listeners": BEHIND})
    with ViaProxy(gateway, v2()) as client:
        assert client.request("GET", "/", host="a.example").body == b"hello"
    assert told(app)[0] == "192.0.2.7"


@pytest.mark.parametrize("header", [v1(), v2(fields=field(UNIQUE_ID, b"an-id") + tls_field())])
def test_a_header_may_come_in_any_two_pieces(start, header):
    gateway = start({"routes": [{"respond": "hello"}], "listeners": BEHIND})
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    for at in range(1, len(header)):
        with Client(gateway.address) as client:
            client.send(header[:at])
            assert client.silent(0.001)
            client.send(header[at:] + request)
            assert client.read_response().body == b"hello"
    with Client(gateway.address) as client:
        for i in range(len(header)):
            client.send(header[i:i + 1])
        client.send(request)
        assert client.read_response().body == b"hello"


@pytest.mark.parametrize("header", [v1(), v2()])
def test_a_header_that_is_cut_short_ends_at_the_deadline(start, header):
    gateway = start({"routes": [{"respond": "hello"}], "listeners": BEHIND, "client": {"head": "300ms"}})

    def wait(at):
        with Client(gateway.address) as client:
            client.send(header[:at])
            return client.closed()
    assert all(in_parallel(len(header), wait))
    gateway.counts(len(header), "pontage_proxy_headers_total", result="timeout")
    assert gateway.output().count("no whole PROXY header") == 1


def test_a_trusted_proxy_without_a_header_is_cut_off(start):
    gateway = start({"routes": [{"respond": "hello"}], "listeners": BEHIND})
    for _ in range(3):
        with Client(gateway.address) as client:
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.closed()
    gateway.counts(3, "pontage_proxy_headers_total", result="missing")
    assert gateway.output().count("does not begin with a PROXY header") == 1
    for wrong in (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", proxies.SIGNATURE + b"\x21\x11\xff\xff", v2(fields=b"\1"),
                  v2(fields=field(proxies.CRC32C, b"abcd")), b"PROXY " + b"x" * 200):
        with Client(gateway.address) as client:
            client.send(wrong)
            assert client.closed(), wrong
    gateway.counts(5, "pontage_proxy_headers_total", result="malformed")
    with Client(gateway.address):
        pass
    gateway.counts(1, "pontage_proxy_headers_total", result="aborted")


def test_nobody_else_is_believed(start, app):
    gateway = start({**proxy_to(app.url), "listeners": [{"bind": "127.0.0.1:0", "proxy_protocol": {"trust": ["10.0.0.0/8"]}}]})
    assert gateway.get("/").status == 200
    assert told(app)[0] == "127.0.0.1"
    for header in (v1(), v2()):
        with Client(gateway.address) as client:
            client.send(header + b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.read_response().status in (400, 505)
            assert client.closed()
    assert len(app.requests) == 1


def test_clients_of_a_unix_socket_can_be_trusted(start, app, tmp_path):
    path = tmp_path / "s"
    gateway = start({**proxy_to(app.url), "listeners": [{"bind": f"unix:{path}", "proxy_protocol": "unix"}]})
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(str(path))
        s.sendall(v1() + b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 200")
    assert told(app)[0] == "192.0.2.7"
    gateway.stop()


def test_a_reload_changes_who_is_trusted(start, tmp_path):
    path = tmp_path / "s"

    def config(**more):
        return {"routes": [{"respond": "hello"}], "listeners": [{"bind": f"unix:{path}", **more}]}

    def ask(header):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(str(path))
            s.sendall(header + b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            try:
                return s.recv(65536)[9:12]
            except ConnectionResetError:
                return b""
    gateway = start(config())
    assert ask(b"") == b"200" and ask(v1()) != b"200"
    gateway.reload(config(proxy_protocol="unix"))
    assert eventually(lambda: ask(v1()) == b"200", "the new settings") and ask(b"") == b""
    gateway.stop()


# ---- out

@pytest.mark.parametrize("version", ["v1", "v2"])
def test_servers_are_told_the_client(start, version):
    with ProxiedServer() as server:
        gateway = start(proxy_to(server.url, send_proxy=version))
        with gateway.connect() as client:
            own = client.socket.getsockname()[:2]
            assert client.request("GET", "/").body == b"1 /"
        header = server.headers[0]
        assert (header.version, header.source, header.destination) == (int(version[1]), own, gateway.address)
        assert header.fields == {}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_servers_are_told_the_told_client(start, version):
    with ProxiedServer() as server:
        gateway = start({**proxy_to(server.url, send_proxy=version), "listeners": BEHIND})
        with behind_header(gateway, v1("2001:db8::7", "2001:db8::1")) as client:
            assert client.request("GET", "/").status == 200
        assert server.headers[0].source == ("2001:db8::7", 4711) and server.headers[0].destination == ("2001:db8::1", 443)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_unix_client_has_no_address_to_tell(start, tmp_path, version):
    path = tmp_path / "s"
    with ProxiedServer() as server:
        gateway = start({**proxy_to(server.url, send_proxy=version), "listeners": [f"unix:{path}"]})
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(str(path))
            s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert s.recv(65536).startswith(b"HTTP/1.1 200")
        header = server.headers[0]
        assert header.source is None and not header.local
        if version == "v1":
            assert header.raw == b"PROXY UNKNOWN\r\n"
        gateway.stop()


def test_tls_and_ids_are_told(start, authority, pairs):
    tls = listener(pairs["a"], client_ca=str(authority.cert), client_auth="optional")
    with ProxiedServer() as server:
        gateway = start({**proxy_to(server.url, send_proxy="v2"), "listeners": [tls, {**BEHIND[0], "bind": "127.0.0.2:0"}]})
        with behind_header(gateway, b"", context_for(authority, pairs["client"])) as client:
            cipher, version = client.socket.cipher()[0], client.socket.version()
            assert client.request("GET", "/", host="a.example").status == 200
        header = server.headers[-1]
        assert header.fields[AUTHORITY] == b"a.example" and header.client == 7 and header.verify == 0
        assert header.ssl == {SSL_VERSION: version.encode(), SSL_CIPHER: cipher.encode(), SSL_CN: b"client.example"}
        with behind_header(gateway, b"", context_for(authority)) as client:
            assert client.request("GET", "/", host="a.example").status == 200
        assert server.headers[-1].client == 1 and server.headers[-1].verify != 0
        # What a proxy told is told on.
        more = field(SSL_CN, b"someone")
        gateway.address = gateway.addresses[1]
        with behind_header(gateway, v2(fields=field(AUTHORITY, b"b.example") + field(UNIQUE_ID, b"id\0\1") + tls_field(client=3, more=more))) as c:
            assert c.request("GET", "/").status == 200
        header = server.headers[-1]
        assert header.fields[AUTHORITY] == b"b.example" and header.fields[UNIQUE_ID] == b"id\0\1"
        assert header.client == 3 and header.verify == 0 and header.ssl == {SSL_VERSION: b"TLSv1.3", SSL_CN: b"someone"}


def test_the_header_comes_before_tls(start, authority, pairs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pairs["a"].cert, pairs["a"].key)

    def wrap(connection):
        # Nothing of the hello was read with the header: exactly() takes what came, so it is given back by a pair.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        incoming.write(connection.pending)
        connection.pending = b""
        session, plain = context.wrap_bio(incoming, outgoing, server_side=True), connection.socket

        class Tls:
            def step(self, action):
                while True:
                    try:
                        done = action()
                        plain.sendall(outgoing.read())
                        return done
                    except ssl.SSLWantReadError:
                        plain.sendall(outgoing.read())
                        got = plain.recv(65536)
                        if not got:
                            raise EOFError from None
                        incoming.write(got)

            def recv(self, count):
                return self.step(lambda: session.read(count))

            def sendall(self, data):
                self.step(lambda: session.write(data))
        tls = Tls()
        tls.step(session.do_handshake)
        connection.socket = tls
        return connection
    with ProxiedServer(wrap) as server:
        url = server.url.replace("http:", "https:")
        gateway = start(proxy_to(url, send_proxy="v2", tls={"ca": str(authority.cert), "server_name": "a.example"}))
        for i in range(3):
            assert gateway.get(f"/{i}").body == f"{i + 1} /{i}".encode()
        assert [h.version for h in server.headers] == [2, 2, 2]


def test_a_connection_tells_of_one_client_only(start):
    with ProxiedServer() as server:
        gateway = start({**proxy_to(server.url, send_proxy="v1"), "workers": 2})

        def visit(i):
            with gateway.connect() as client:
                own = client.socket.getsockname()[:2]
                return [(own, client.request("GET", f"/{i}/{turn}").body) for turn in range(4)]
        seen = [answer for answers in in_parallel(8, visit) for answer in answers]
        assert server.accepted == len(seen) == 32
        for own, body in seen:
            number = int(body.split()[0])
            assert sum(h.source == own for h in server.headers) == 4 and number <= 32
        gateway.counts(0, "pontage_backend_connection_reuse_total", result="reused")
        gateway.counts(0, "pontage_backend_connections", state="idle")


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_header_and_request_leave_together(start, version):
    def script(connection):
        connection.more()
        assert b"GET / HTTP/1.1" in connection.pending
        connection.send(ok(b"at once"))
    with FakeServer(script) as server:
        gateway = start(proxy_to(server.url, send_proxy=version))
        for _ in range(10):
            assert gateway.get("/").body == b"at once"


def test_connections_from_before_a_reload_are_not_used_for_one(start):
    script = answering(ok(b"plain"))
    with FakeServer(lambda c: script(c) if c.number == 1 else proxied(c)) as server:
        headers = []

        def proxied(connection):
            headers.append(proxies.Header(connection))
            script(connection)
        gateway = start(proxy_to(server.url))
        assert gateway.get("/").body == b"plain"
        gateway.counts(1, "pontage_backend_connections", state="idle")
        gateway.reload(proxy_to(server.url, send_proxy="v2"))
        assert gateway.get("/").body == b"plain"
        assert len(headers) == 1 and server.accepted == 2


@pytest.mark.parametrize("adapter", ["http", "ajp", "fastcgi", "scgi", "uwsgi"])
def test_every_adapter_can_be_behind_a_header(start, origin, adapter):
    """A relay takes the header off, and passes the rest on to a server that knows nothing of it."""
    headers = []

    def relay(connection):
        headers.append(proxies.Header(connection))
        host, port = getattr(origin, adapter).rsplit(":", 1)
        with socket.create_connection((host, int(port)), PATIENCE) as onward:
            onward.sendall(connection.pending)
            while True:
                for ready in select.select([onward, connection.socket], [], [], PATIENCE)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (connection.socket if ready is onward else onward).sendall(data)
    with FakeServer(relay) as server:
        gateway = start(proxy_to(f"{adapter}://127.0.0.1:{server.port}", send_proxy="v2"))
        for _ in range(3):
            assert gateway.get("/bytes/1000").status == 200
        assert len(headers) == 3 and all(h.source[0] == "127.0.0.1" for h in headers)


def test_a_probe_asks_for_itself(tmp_path):
    for version in ("v1", "v2"):
        with ProxiedServer() as server:
            file = tmp_path / "probe.yaml"
            file.write_text(to_yaml({"listeners": ["127.0.0.1:0"], **proxy_to(server.url, send_proxy=version)}))
            done = run_cli("check", "--probe", "--idle", 0, "-c", file)
            assert done.returncode == 0, done.stdout + done.stderr
            assert server.headers and all(h.source is None for h in server.headers)
            if version == "v2":
                assert all(h.local for h in server.headers)


# ---- the configuration

@pytest.mark.parametrize("config,complaint", [
    ({"listeners": [{"bind": ":0", "proxy_protocol": {"trust": ["10.0.0.0/33"]}}]}, "prefix length"),
    ({"listeners": [{"bind": ":0", "proxy_protocol": {"trust": []}}]}, "at least one"),
    ({"listeners": [{"bind": ":0", "proxy_protocol": {}}]}, "trust"),
    ({"backends": {"app": {"servers": ["http://a"], "send_proxy": "v3"}}, "routes": [{"proxy": "app"}]}, "v1"),
])
def test_wrong_settings_are_named(tmp_path, config, complaint):
    file = tmp_path / "bad.yaml"
    file.write_text(to_yaml({"listeners": [":0"], "routes": [{"respond": "x"}], **config}))
    done = run_cli("check", "-c", file)
    assert done.returncode == 78 and complaint in done.stderr + done.stdout


def test_trust_that_can_never_matter_is_warned_of(tmp_path):
    for bind, trust in ((f"unix:{tmp_path}/s", "10.0.0.0/8"), (":0", "unix")):
        file = tmp_path / "odd.yaml"
        file.write_text(to_yaml({"listeners": [{"bind": bind, "proxy_protocol": trust}], "routes": [{"respond": "x"}]}))
        done = run_cli("check", "-c", file)
        assert done.returncode == 0 and "no effect" in done.stderr + done.stdout
