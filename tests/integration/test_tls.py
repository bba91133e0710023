"""TLS on listeners: certificates, sessions, clients' certificates, reload, and all that can go wrong before a request."""
import base64
import json
import re
import select
import socket
import ssl
import subprocess
import time

import pytest

from certificates import Authority, openssl
from conftest import SITE, site_config
from harness import PATIENCE, amount, eventually, in_parallel, run_cli
from tls import TlsClient, context_for, listener, tls_config

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pairs(authority):
    return {"a": authority.sign("a", "a.example"), "a-rsa": authority.sign("a-rsa", "a.example", kind="rsa"),
            "wild": authority.sign("wild", "*.wild.example"), "client": authority.sign("client", "client.example")}


def shown(gateway, context, name):
    """The serial number of the certificate that is shown for a name."""
    with TlsClient(gateway, context, name) as client:
        return client.socket.getpeercert()["serialNumber"]


@pytest.fixture(scope="module")
def front(tmp_path_factory, origin, site, authority, pairs):
    from harness import Gateway
    config = tls_config(pairs["a"], config=site_config(origin, site))
    process = Gateway(tmp_path_factory.mktemp("tls"), config)
    yield process
    process.stop()


# ---- certificates

def test_name_and_abilities_choose_the_certificate(start, authority, pairs):
    gateway = start(tls_config(pairs["wild"], pairs["a-rsa"], pairs["a"]))
    modern = context_for(authority)
    assert shown(gateway, modern, "a.example") == pairs["a"].serial()
    old = context_for(authority, version=ssl.TLSVersion.TLSv1_2, ciphers="ECDHE-RSA-AES128-GCM-SHA256")
    assert shown(gateway, old, "a.example") == pairs["a-rsa"].serial()
    assert shown(gateway, modern, "x.wild.example") == pairs["wild"].serial()
    # Neither two labels nor none; who is not known gets the first, and does not take it.
    for name in ("x.y.wild.example", "wild.example", "nobody.example"):
        with pytest.raises(ssl.SSLCertVerificationError):
            shown(gateway, modern, name)
    gateway.counts(3, "pontage_tls_handshakes_total", result="full")


def test_old_versions_and_weak_ciphers_are_refused(start, authority, pairs):
    gateway = start(tls_config(pairs["a"], pairs["a-rsa"], min_version="1.3"))
    with pytest.raises(ssl.SSLError):
        shown(gateway, context_for(authority, version=ssl.TLSVersion.TLSv1_2), "a.example")
    with TlsClient(gateway, context_for(authority)) as client:
        assert client.socket.version() == "TLSv1.3"
    gateway.reload(tls_config(pairs["a"], pairs["a-rsa"]))
    with pytest.raises(ssl.SSLError):
        shown(gateway, context_for(authority, version=ssl.TLSVersion.TLSv1_2, ciphers="AES128-SHA:@SECLEVEL=0"), "a.example")
    gateway.counts(2, "pontage_tls_handshakes_total", result="failed")


def test_protocol_is_agreed_on(start, authority, pairs):
    gateway = start(tls_config(pairs["a"]))
    with TlsClient(gateway, context_for(authority, alpn=["foo", "http/1.1"])) as client:
        assert client.socket.selected_alpn_protocol() == "http/1.1"
        assert client.request("GET", "/", host="a.example").body == b"hello"
    with TlsClient(gateway, context_for(authority)) as client:
        assert client.socket.selected_alpn_protocol() is None
        assert client.request("GET", "/", host="a.example").body == b"hello"
    with pytest.raises(ssl.SSLError):  # RFC 7301 3.2
        TlsClient(gateway, context_for(authority, alpn=["foo"]))


def test_ocsp_response_is_stapled(start, authority, pairs):
    file = authority.ocsp(pairs["a"])
    gateway = start(tls_config(pairs["a"].config(ocsp=str(file)), pairs["wild"]))

    def told(name):
        address = "{}:{}".format(*gateway.address)
        return openssl("s_client", "-connect", address, "-servername", name, "-status", "-CAfile", authority.cert).decode()
    assert "OCSP Response Status: successful" in told("a.example")
    assert "OCSP response: no response sent" in told("x.wild.example")


# ---- sessions

@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed_by_any_worker_and_after_a_reload(start, authority, pairs, version):
    gateway = start({**tls_config(pairs["a"]), "workers": 3})
    context = context_for(authority, version=version)

    def visit(session=None):
        with TlsClient(gateway, context, session=session) as client:
            assert client.request("GET", "/", host="a.example").body == b"hello"
            return client.socket.session, client.socket.session_reused
    session, reused = visit()
    assert not reused
    times = amount(20)
    for _ in range(times):
        session, reused = visit(session)
        assert reused
    gateway.reload()
    assert visit(session)[1]
    gateway.counts(1, "pontage_tls_handshakes_total", result="full")
    gateway.counts(times + 1, "pontage_tls_handshakes_total", result="resumed")


def test_gateways_with_the_same_ticket_keys_open_each_others_tickets(start, tmp_path, authority, pairs):
    for name in ("old", "new"):
        (tmp_path / name).write_bytes(name.encode() * 26 + b"..")
    one = start(tls_config(pairs["a"], ticket_keys=[str(tmp_path / "old")]))
    two = start(tls_config(pairs["a"], ticket_keys=[str(tmp_path / "new"), str(tmp_path / "old")]))
    context = context_for(authority)

    def visit(gateway, session=None):
        with TlsClient(gateway, context, session=session) as client:
            client.request("GET", "/", host="a.example")
            return client.socket.session, client.socket.session_reused
    session, _ = visit(one)
    session, reused = visit(two, session)
    assert reused
    assert not visit(one, session)[1]  # sealed with the new key


def test_no_tickets_no_sessions(start, authority, pairs):
    gateway = start(tls_config(pairs["a"], tickets=False))
    context = context_for(authority)
    with TlsClient(gateway, context) as client:
        client.request("GET", "/", host="a.example")
        session = client.socket.session
    if session is not None:
        with TlsClient(gateway, context, session=session) as client:
            assert not client.socket.session_reused


# ---- clients' certificates

def certificate_config(origin, site, authority, pairs, **tls):
    return tls_config(pairs["a"], config=site_config(origin, site), client_ca=str(authority.cert), **tls)


def told(client, path="/http/info"):
    return client.request("GET", path, host="a.example",
                          headers=[("Client-Cert", ":Zm9vCg==:"), ("X-Forwarded-Client-Cert", "Hash=0")]).json()


def fields(info):
    return {name.lower(): value for name, value in (info["headers"].items() if isinstance(info["headers"], dict) else info["headers"])}


def test_servers_learn_of_tls_and_of_the_clients_certificate(start, origin, site, authority, pairs):
    gateway = start(certificate_config(origin, site, authority, pairs, client_auth="optional", forward_cert="client_cert"))
    with TlsClient(gateway, context_for(authority, pairs["client"])) as client:
        http = fields(told(client))
        assert http["x-forwarded-proto"] == "https"
        assert http["client-cert"] == ":" + base64.b64encode(pairs["client"].der()).decode() + ":"
        assert "x-forwarded-client-cert" not in http
        text = json.dumps(told(client, "/ajp/info"))
        ajp = {key: value for key, value in re.findall(r'"(\w+)":\s*("(?:\\.|[^"\\])*"|\w+)', text)}
        name, version, bits = client.socket.cipher()
        assert ajp["is_tls"] == "true" and ajp["ssl_protocol"] == '"TLSv1.3"' and version == "TLSv1.3"
        assert ajp["ssl_cipher"] == f'"{name}"' and ajp["ssl_key_size"] == str(bits)
        assert re.fullmatch('"[0-9a-f]{64}"', ajp["ssl_session"])
        assert ssl.PEM_cert_to_DER_cert(json.loads(ajp["ssl_cert"])) == pairs["client"].der()
    with TlsClient(gateway, context_for(authority)) as client:
        assert "client-cert" not in fields(told(client))


def test_xfcc_and_resumption_keep_the_clients_certificate(start, origin, site, authority, pairs):
    gateway = start(certificate_config(origin, site, authority, pairs, client_auth="required", forward_cert="xfcc"))
    context, session, seen = context_for(authority, pairs["client"]), None, []
    for _ in range(2):
        with TlsClient(gateway, context, session=session) as client:
            http = fields(told(client))
            seen.append((client.socket.session_reused, http["x-forwarded-client-cert"]))
            assert "client-cert" not in http
            session = client.socket.session
    assert [reused for reused, _ in seen] == [False, True]
    assert seen[0][1] == seen[1][1]
    assert "DNS=client.example" in seen[0][1] and seen[0][1].startswith("Hash=")


def test_required_certificate_that_is_missing_or_strange_ends_the_handshake(start, tmp_path, origin, site, authority, pairs):
    gateway = start(certificate_config(origin, site, authority, pairs, client_auth="required"))
    stranger = Authority(tmp_path, "stranger").sign("strange", "client.example")
    for pair in (None, stranger):
        with pytest.raises((ssl.SSLError, ConnectionResetError, EOFError)):
            with TlsClient(gateway, context_for(authority, pair)) as client:
                client.request("GET", "/", host="a.example")  # in TLS 1.3 the alert comes after our part
    gateway.counts(2, "pontage_tls_handshakes_total", result="failed")


# ---- what goes over it

@pytest.mark.parametrize("adapter", ["http", "ajp"])
@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 16385, 100_000, 3 << 20])
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_arrive_whole_both_ways(front, authority, adapter, size, chunked):
    body = bytes(i * 7 % 251 for i in range(size))
    with TlsClient(front, context_for(authority)) as client:
        for _ in range(2):
            response = client.request("POST", f"/{adapter}/echo", body=body, chunked=chunked, host="a.example")
            assert response.status == 200 and response.body == body


@pytest.mark.parametrize("name", sorted(n for n in SITE if n.endswith((".bin", ".txt")) and " " not in n and n.isascii() and "%" not in n))
def test_files_arrive_whole(front, authority, name):
    with TlsClient(front, context_for(authority)) as client:
        for _ in range(3):
            assert client.request("GET", f"/{name}", host="a.example").body == SITE[name]


def test_slow_reader_gets_a_large_file_whole(front, authority):
    with TlsClient(front, context_for(authority)) as client:
        for _ in range(4):  # far more than the buffers of sockets hold
            client.send("GET /3m.bin HTTP/1.1\r\nHost: a.example\r\n\r\n")
        eventually(lambda: select.select([client.socket], [], [], 0)[0])
        for _ in range(4):
            assert client.read_response().body == SITE["3m.bin"]


def test_pipelined_requests_of_one_record_are_answered_in_order(front, authority):
    names = ["ten.txt", "3k.bin", "100k.bin", "fifty.txt", "empty.txt", "3k.bin"]
    with TlsClient(front, context_for(authority)) as client:
        client.send("".join(f"GET /{name} HTTP/1.1\r\nHost: a.example\r\n\r\n" for name in names))
        for name in names:
            assert client.read_response().body == SITE[name]


def test_head_in_many_records(front, authority):
    with TlsClient(front, context_for(authority)) as client:
        for byte in "GET /ten.txt HTTP/1.1\r\nHost: a.example\r\n\r\n":
            client.send(byte)
        assert client.read_response().body == SITE["ten.txt"]


def test_end_is_said_and_a_cut_is_not(front, authority):
    context = context_for(authority)
    with TlsClient(front, context) as client:  # a body that only the end of the connection ends
        response = client.request("GET", "/http/stream?n=3&ms=1", version="1.0", host="a.example")
        assert response.body and not response.truncated
    with TlsClient(front, context) as client:
        client.send("GET /ten.txt HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        assert client.read_response().body == SITE["ten.txt"]
        assert client.closed()


def test_upload_that_is_cut_reaches_no_server_as_if_it_were_whole(start, origin, site, authority, pairs):
    gateway = start(tls_config(pairs["a"], config=site_config(origin, site)))
    client = TlsClient(gateway, context_for(authority))
    client.send("POST /http/upload HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    client.socket.shutdown(socket.SHUT_RDWR)  # of the socket below: no close_notify
    client.close()
    gateway.counts(1, "pontage_requests_total", code="499")


def test_connections_in_all_states_leave_nothing_behind(start, authority, pairs):
    gateway = start(tls_config(pairs["a"]))
    context = context_for(authority)

    def visit(i):
        if i % 3 == 0:
            with socket.create_connection(gateway.address) as raw:
                raw.sendall(b"\x16\x03\x01\x02\x00\x01\x00"[:i % 7 + 1])
        with TlsClient(gateway, context) as client:
            if i % 3 == 1:
                client.reset()
            elif i % 3 == 2:
                client.request("GET", "/", host="a.example")
    in_parallel(amount(30), visit)
    gateway.counts(0, "pontage_connections")


# ---- what goes wrong

def test_stalled_handshake_meets_its_deadline(start, authority, pairs):
    gateway = start(tls_config(pairs["a"], handshake="300ms"))
    stalled = [socket.create_connection(gateway.address, PATIENCE) for _ in range(2)]
    stalled[1].sendall(b"\x16\x03\x01")
    with TlsClient(gateway, context_for(authority)) as client:  # others are served meanwhile
        assert client.request("GET", "/", host="a.example").body == b"hello"
    for client in stalled:
        assert client.recv(100) == b""
        client.close()
    gateway.counts(2, "pontage_tls_handshakes_total", result="timeout")


def test_drain_does_not_wait_for_a_handshake(start, pairs):
    gateway = start(tls_config(pairs["a"]))
    with socket.create_connection(gateway.address, PATIENCE) as stalled:
        eventually(lambda: gateway.metrics().sum("pontage_connections", protocol="tls") == 1)
        gateway.signal(15)
        assert stalled.recv(1) == b""
        assert gateway.wait() == 0


def test_plain_http_is_told_that_this_is_https(start, pairs):
    gateway = start(tls_config(pairs["a"]))
    for request in ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n" + "x" * 50_000):
        with gateway.connect() as client:
            client.send_what_fits(request.encode())
            response = client.read_response()
            assert response.status == 400 and b"HTTPS" in response.body and not response.truncated
    gateway.counts(2, "pontage_tls_handshakes_total", result="plain_http")


def test_nonsense_and_silence_are_counted(start, pairs):
    gateway = start(tls_config(pairs["a"]))
    with gateway.connect() as client:
        client.send(b"\x00\x01 nonsense that is neither TLS nor HTTP")
        client.socket.recv(100)
    gateway.connect().close()
    gateway.counts(1, "pontage_tls_handshakes_total", result="failed")
    gateway.counts(1, "pontage_tls_handshakes_total", result="aborted")


def test_limit_of_connections_counts_handshakes(start, pairs):
    gateway = start({**tls_config(pairs["a"]), "limits": {"connections": 1}})
    with socket.create_connection(gateway.address, PATIENCE):
        eventually(lambda: gateway.metrics().sum("pontage_connections", protocol="tls") == 1)
        with socket.create_connection(gateway.address, PATIENCE) as second:
            assert second.recv(1) == b""


# ---- reload

def test_reload_changes_the_certificate_and_keeps_connections(start, authority, pairs):
    gateway = start(tls_config(pairs["a"]))
    context = context_for(authority)
    with TlsClient(gateway, context) as client:
        assert client.request("GET", "/", host="a.example").body == b"hello"
        next_one = authority.sign("next", "a.example")
        gateway.reload(tls_config(next_one))
        assert client.request("GET", "/", host="a.example").body == b"hello"
        assert shown(gateway, context, "a.example") == next_one.serial()
    labels = {"certificate": str(next_one.cert)}
    assert gateway.metrics().sum("pontage_tls_certificate_expiry_seconds", **labels) > time.time()
    assert gateway.metrics().sum("pontage_tls_certificate_expiry_seconds", certificate=str(pairs["a"].cert)) == 0


def test_tls_comes_and_goes_by_reload(start, authority, pairs):
    gateway = start(tls_config(pairs["a"]))
    gateway.reload({**tls_config(pairs["a"]), "listeners": ["127.0.0.1:0"]})
    assert gateway.get("/").body == b"hello"
    gateway.reload(tls_config(pairs["a"]))
    with TlsClient(gateway, context_for(authority)) as client:
        assert client.request("GET", "/", host="a.example").body == b"hello"


def test_unix_listener_speaks_tls_on_every_worker(start, tmp_path, authority, pairs):
    path = str(tmp_path / "tls.sock")
    gateway = start({**tls_config(pairs["a"]), "listeners": [listener(pairs["a"], bind="unix:" + path)], "workers": 2})
    for _ in range(4):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(PATIENCE)
            raw.connect(path)
            with context_for(authority).wrap_socket(raw, server_hostname="a.example") as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
                assert client.recv(9) == b"HTTP/1.1 "
    gateway.counts(4, "pontage_tls_handshakes_total", result="full")


def test_broken_pair_keeps_the_old_one_and_says_so(start, tmp_path, authority, pairs):
    mine = authority.sign("mine", "a.example")
    gateway = start(tls_config(mine))
    before, context = mine.serial(), context_for(authority)
    mine.key.write_bytes(pairs["wild"].key.read_bytes())
    gateway.reload(good=False)
    assert shown(gateway, context, "a.example") == before
    assert "does not belong to the certificate" in gateway.output()
    mine.cert.write_text("nothing")
    gateway.reload(good=False)
    assert shown(gateway, context, "a.example") == before
    assert "holds no certificate in PEM" in gateway.output()


def test_expiry_is_a_metric(start, authority, pairs):
    gateway = start(tls_config(pairs["a"]))
    end = openssl("x509", "-in", pairs["a"].cert, "-noout", "-enddate").decode().strip().split("=")[1]
    assert gateway.metrics().sum("pontage_tls_certificate_expiry_seconds") == ssl.cert_time_to_seconds(end)


# ---- check

def check(tmp_path, *certificates, **tls):
    file = tmp_path / "check.yaml"
    lines = ["routes: [{ respond: hello }]", "listeners:", "  - bind: \":443\"", "    tls:", "      certificates:"]
    lines += [f"        - {json.dumps(c if isinstance(c, dict) else c.config())}" for c in certificates]
    lines += [f"      {key}: {json.dumps(value)}" for key, value in tls.items()]
    file.write_text("\n".join(lines) + "\n")
    done = run_cli("check", "-c", file)
    return done.returncode, done.stderr


def test_check_finds_what_is_wrong_with_every_pair(tmp_path, pairs):
    code, text = check(tmp_path, pairs["a"].config(key=str(pairs["wild"].key)), {"cert": "absent.pem"}, pairs["a"].config(ocsp=str(pairs["a"].key)))
    assert code == 78
    assert re.search(r":6:\d+: error: the key .* does not belong to the certificate", text), text
    assert re.search(r":7:\d+: error: cannot read .*absent.pem", text), text
    assert re.search(r":8:\d+: error: .* is no OCSP response", text), text
    assert "PRIVATE" not in text


def test_check_warns_of_time_and_of_what_is_never_shown(tmp_path, authority, pairs):
    old, soon = authority.sign("old", "old.example", days=-1), authority.sign("soon", "soon.example", days=3)
    code, text = check(tmp_path, pairs["a"], old, soon, authority.sign("again", "a.example"))
    assert code == 0, text
    assert re.search(r":7:\d+: warning: .*has expired", text), text
    assert re.search(r":8:\d+: warning: .*expires within a week", text), text
    assert re.search(r":9:\d+: warning: .*is never shown", text), text
    assert "a.pem` " not in text.replace(str(authority.folder / "again"), "")


def test_check_reads_the_rest_of_the_files(tmp_path, pairs):
    (tmp_path / "short.key").write_bytes(b"x" * 79)
    assert "80 random bytes" in check(tmp_path, pairs["a"], ticket_keys="short.key")[1]
    code, text = check(tmp_path, pairs["a"], client_auth="required", client_ca=str(pairs["a"].key))
    assert code == 78 and "client_ca" in text
    code, text = check(tmp_path, pairs["a"], ciphers="NONSENSE")
    assert code == 78 and "ciphers" in text


def test_curl_takes_it(front, authority):
    host, port = front.address
    done = subprocess.run(["curl", "-sS", "--cacert", authority.cert, "--resolve", f"a.example:{port}:{host}",
                           f"https://a.example:{port}/ten.txt"], capture_output=True, timeout=PATIENCE)
    assert done.stdout == SITE["ten.txt"], done.stderr
