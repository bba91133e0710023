"""HTTP/2 towards clients (RFC 9113): requests and answers, bodies, trailers, flow control, order; over TLS and in the clear."""
import json
import shutil
import socket
import subprocess
import uuid

import pytest

from certificates import Authority
from conftest import SITE, site_config
from fakes import FakeServer, answering, ok
from h2client import NO_ERROR, Frames, H2Client, frames, head
from harness import ADAPTERS, PATIENCE, Gateway, amount, eventually, in_parallel, proxy_to
from test_bodies import fnv, pattern, same_sum
from test_tls import context_for, tls_config

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def pairs(authority):
    return {name: authority.sign(name, f"{name}.example") for name in ("test", "other")}


@pytest.fixture(scope="module")
def tls_gateway(tmp_path_factory, origin, site, pairs):
    process = Gateway(tmp_path_factory.mktemp("tls"), tls_config(pairs["test"], pairs["other"], config=site_config(origin, site)))
    yield process
    process.stop()


@pytest.fixture(params=["clear", "tls"])
def connect(request, gateway, tls_gateway, authority):
    """connect(**options) -> H2Client, over TLS and in the clear."""
    if request.param == "clear":
        return lambda **options: H2Client(gateway, **options)
    return lambda **options: H2Client(tls_gateway, tls=context_for(authority, alpn=["h2", "http/1.1"]), **options)


# ---- requests and answers

@pytest.mark.parametrize("name", ["empty.txt", "ten.txt", "3k.bin", "100k.bin", "3m.bin"])
def test_files_arrive_whole(connect, name):
    with connect() as client:
        for _ in range(2):
            answer = client.request(path=f"/{name}")
            assert answer.status == 200 and answer.body == SITE[name] and answer.ended
            assert answer.header("content-length") == str(len(SITE[name]))
            assert answer.header("date") and answer.header("server") == "pontage"


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("size", [0, 1, 16384, 100_000, 3 << 20])
def test_bodies_go_both_ways_through_every_adapter(connect, adapter, size):
    body = pattern(size)
    with connect() as client:
        for fields in ([], [("content-length", str(size))]):
            answer = client.request("POST", f"/{adapter}/echo", fields, body)
            assert answer.status == 200 and answer.body == body
        told = json.loads(client.request("PUT", f"/{adapter}/upload", body=body).body)
        assert told["bytes"] == size and same_sum(told["fnv"], body)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_server_sees_a_plain_request(connect, adapter):
    with connect() as client:
        told = json.loads(client.request("M-SEARCH", f"/{adapter}/info?a=b&c", [("x-one", "1"), ("cookie", "a=1"), ("cookie", "b=2"),
                                                                             ("te", "trailers")]).body)
    assert told["method"] == "M-SEARCH" and told["target"].endswith("/info?a=b&c")
    fields = {n.lower(): v for n, v in told["headers"]}
    assert fields["x-one"] == "1" and fields["cookie"] == "a=1; b=2" and fields["host"] == "test.example"
    assert "transfer-encoding" not in fields and not any(n.startswith(":") for n in fields)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("fields", [[], [("content-length", "LENGTH")], [("x-content-length", "0"), ("content_length", "0")]], ids=str)
def test_v5_a_body_is_never_a_request(connect, adapter, fields):
    key = f"{adapter}-{uuid.uuid4()}"
    body = f"GET /counter?key={key} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 3
    fields = [(n, v.replace("LENGTH", str(len(body)))) for n, v in fields]
    with connect() as client:
        for method in ("POST", "GET"):
            assert client.request(method, f"/{adapter}/echo", fields, body).body == body
        assert json.loads(client.request(path=f"/{adapter}/counter?key={key}").body)["count"] == 1


def test_a_request_to_a_server_is_via_http_2(start):
    seen = []
    with FakeServer(answering(lambda request: seen.append(request) or ok(b"x"))) as server:
        with H2Client(start(proxy_to(server.url))) as client:
            assert client.request(path="/").body == b"x"
    assert ("Via", "2.0 pontage") in seen[0].headers


@pytest.mark.parametrize("path", ["/3k.bin", "/3m.bin", "/http/bytes/3072", "/ajp/bytes/3072", "/fastcgi/bytes/3072"])
def test_head_answers_like_get_without_a_body(connect, path):
    with connect() as client:
        get, answer = client.request(path=path), client.request("HEAD", path)
        assert answer.status == get.status == 200 and answer.ended and not answer.body
        assert answer.header("content-length") == get.header("content-length") == str(len(get.body))


def test_answers_without_a_body_end_with_their_head(connect):
    with connect() as client:
        etag = client.request(path="/3k.bin").header("etag")
        answer = client.request(path="/3k.bin", fields=[("if-none-match", etag)])
        assert answer.status == 304 and answer.ended and not answer.body
        answer = client.request(path="/http/status/204")
        assert answer.status == 204 and answer.ended and answer.header("content-length") is None


def test_ranges_are_served(connect):
    with connect() as client:
        answer = client.request(path="/3m.bin", fields=[("range", "bytes=1000000-1999999")])
        assert answer.status == 206 and answer.body == SITE["3m.bin"][1_000_000:2_000_000]


def test_options_asterisk_is_answered(connect):
    with connect() as client:
        assert client.request("OPTIONS", "*").status == 204


def test_connect_is_refused(gateway):
    with Frames(gateway) as client:
        client.send(client.headers(1, [(":method", "CONNECT"), (":authority", "a.example:443")]))
        assert client.outcome() == 501
        assert client.alive()


def test_absent_files_and_bad_paths_have_error_pages(connect):
    with connect() as client:
        assert client.request(path="/absent").status == 404
        assert client.request(path="/%2f%2e").status == 400
        assert client.request(path="/..%2f..%2fetc/passwd").status == 400
        assert client.request(path="/ten.txt").status == 200


def test_many_requests_share_a_connection(connect):
    paths = {"/ten.txt": 10, "/3k.bin": 3072, "/http/bytes/1000": 1000, "/ajp/bytes/2000": 2000, "/100k.bin": 102400}
    with connect() as client:
        for _ in range(amount(10)):
            begun = {client.begin(path=path): size for path, size in list(paths.items()) * 10}
            client.wait(*begun)
            assert [len(client.answers[s].body) for s in begun] == list(begun.values())


def test_a_slow_request_does_not_hold_up_another(connect):
    with connect() as client:
        slow = client.begin(path="/http/token?token=slow&ms=400")
        fast = client.begin(path="/http/token?token=fast")
        assert client.wait(fast).body.strip() == b"fast" and not client.answers[slow].done
        assert client.wait(slow).body.strip() == b"slow"


def test_fields_beyond_the_dynamic_table_arrive(connect):
    with connect() as client:
        for i in range(50):
            value = f"{i}" * 300
            told = json.loads(client.request(path="/http/info", fields=[("x-long", value), (f"x-{i}", "1")]).body)
            assert dict((n.lower(), v) for n, v in told["headers"])["x-long"] == value


def test_large_heads_of_servers_arrive(connect):
    with connect() as client:
        answer = client.request(path="/http/headers/20000")
        assert answer.status == 200
        assert sum(len(n) + len(v) for n, v in answer.headers) > 20000


def test_fields_of_the_servers_connection_stay_there(start):
    fields = "Connection: X-Gone, keep-alive\r\nX-Gone: 1\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\nX-Stays: 1\r\nX-UPPER: 2\r\n"
    with FakeServer(answering(ok(b"x", fields))) as server:
        with H2Client(start(proxy_to(server.url))) as client:
            answer = client.request()
    names = {n for n, _ in answer.headers}
    assert {"x-stays", "x-upper"} <= names
    assert not names & {"connection", "x-gone", "keep-alive", "upgrade", "transfer-encoding"}


# ---- expectations, interim answers, trailers, early answers

@pytest.mark.parametrize("adapter", ADAPTERS)
def test_100_continue_is_sent_before_the_body(connect, adapter):
    with connect() as client:
        stream = client.begin("POST", f"/{adapter}/echo", [("expect", "100-continue"), ("content-length", "5")], end=False)
        client.until(lambda: client.answers[stream].interim)
        assert client.answers[stream].interim[0][0] == 100
        client.send(stream, b"hello", end=True)
        assert client.wait(stream).body == b"hello" and len(client.answers[stream].interim) == 1


def test_100_continue_is_not_sent_when_the_answer_is_final_already(connect):
    with connect() as client:
        stream = client.begin("POST", "/ten.txt", [("expect", "100-continue"), ("content-length", "5")], end=False)
        answer = client.wait(stream)
        assert answer.status == 405 and not answer.interim


def test_interim_answers_of_servers_pass(connect):
    with connect() as client:
        answer = client.request(path="/http/interim")
        assert answer.status == 200 and [status for status, _ in answer.interim] == [103, 102]
        assert any(n == "link" for n, _ in answer.interim[0][1])


def test_trailers_of_servers_pass(start):
    script = answering(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n")
    with FakeServer(script) as server:
        with H2Client(start(proxy_to(server.url))) as client:
            answer = client.request(fields=[("te", "trailers")])
    assert answer.body == b"hello" and answer.trailers == [("x-sum", "7")] and answer.ended


def test_trailers_of_a_request_end_its_body(connect):
    with connect() as client:
        stream = client.begin("POST", "/http/echo", end=False)
        client.send(stream, b"hello")
        client.h2.send_headers(stream, [("x-sum", "7")], end_stream=True)
        client.flush()
        assert client.wait(stream).body == b"hello"


def test_an_early_answer_comes_during_an_upload(connect):
    with connect() as client:
        stream = client.begin("POST", "/http/early", end=False)
        client.send(stream, b"x" * 10_000)
        answer = client.wait(stream)
        assert answer.status in (200, 413) and answer.ended
        assert client.request(path="/ten.txt").status == 200


def test_a_body_over_the_limit_is_413_and_the_rest_unwanted(start, origin):
    gateway = start({**proxy_to(f"http://{origin.http}"), "limits": {"body": "1000B"}})
    with Frames(gateway) as client:
        client.send(client.headers(1, head("POST", "/echo"), "END_HEADERS"), frames.DataFrame(1, data=b"x" * 2000))
        assert client.outcome() == 413
        assert client.until(frames.RstStreamFrame, 1).error_code == NO_ERROR  # RFC 9113 8.1
        assert client.alive()
    with H2Client(gateway) as client:
        stream = client.begin("POST", "/echo", [("content-length", "2000")], end=False)
        assert client.wait(stream).status == 413
    gateway.counts(2, "pontage_limit_hits_total", limit="body")


def test_an_answer_that_breaks_off_is_reset(start):
    def breaks_off(connection):
        connection.read_request()
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")

    with FakeServer(breaks_off) as server:
        with H2Client(start(proxy_to(server.url))) as client:
            answer = client.request()
            assert answer.status in (200, 502)
            assert (answer.status == 502 and answer.ended) or answer.reset is not None


# ---- hosts

def test_a_host_field_that_says_the_same_is_taken(connect):
    with connect() as client:
        told = json.loads(client.request(path="/http/info", fields=[("host", "test.example")]).body)
        assert [v for n, v in told["headers"] if n.lower() == "host"] == ["test.example"]


def test_a_host_of_another_certificate_is_misdirected(tls_gateway, authority):
    with H2Client(tls_gateway, tls=context_for(authority, alpn=["h2"])) as client:
        assert client.request(path="/ten.txt").status == 200
        assert client.request(path="/ten.txt", host="other.example").status == 421
        assert client.request(path="/ten.txt", host="nobody.example").status == 200  # no certificate is better
    with H2Client(tls_gateway, tls=context_for(authority, alpn=["h2"]), name="other.example") as client:
        assert client.request(path="/ten.txt", host="other.example").status == 200


# ---- which protocol

def test_alpn_and_the_preface_choose_the_protocol(gateway, tls_gateway, authority):
    with Frames(gateway, start=False) as client:
        for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
            client.raw(bytes([byte]))
        client.send(frames.SettingsFrame(0))
        client.request(1, path="/ten.txt")
        assert client.outcome() == 200
    with gateway.connect() as client:
        client.send("PRI * HTTP/2.0\r\nX: y\r\n\r\n")  # not the preface
        assert client.read_response().status in (400, 405, 505)
    context = context_for(authority, alpn=["http/1.1"])
    from test_tls import TlsClient
    with TlsClient(tls_gateway, context, "test.example") as client:
        assert client.request("GET", "/ten.txt").body == b"0123456789"


def test_http2_can_be_switched_off(start, authority, pairs):
    config = tls_config(pairs["test"])
    config["listeners"] = [{"bind": "127.0.0.1:0", "http2": False}, {**config["listeners"][0], "bind": "127.0.0.2:0", "http2": False}]
    clear, tls = start(config).addresses
    with Frames(clear) as client:
        assert client.recv().startswith(b"HTTP/1.1 ")
    context = context_for(authority, alpn=["h2", "http/1.1"])
    with context.wrap_socket(socket.create_connection(tls, PATIENCE), server_hostname="test.example") as client:
        assert client.selected_alpn_protocol() == "http/1.1"


def test_both_protocols_are_counted(start, site, tmp_path):
    log = tmp_path / "access.log"
    gateway = start({"routes": [{"files": str(site)}], "access_log": str(log)})
    gateway.get("/ten.txt")
    with H2Client(gateway) as client:
        for _ in range(3):
            client.request(path="/ten.txt")
        gateway.counts(3, "pontage_protocol_requests_total", protocol="h2")
        gateway.counts(1, "pontage_protocol_requests_total", protocol="http/1.1")
        gateway.counts(1, "pontage_connections", protocol="h2")
    gateway.counts(0, "pontage_connections", protocol="h2")
    gateway.counts(0, "pontage_h2_streams")
    eventually(lambda: log.read_text().count("HTTP/2.0\" 200") == 3, "three lines of HTTP/2.0")


# ---- others' clients

def url(gateway, path, scheme="http"):
    host, port = gateway.address
    return f"{scheme}://{host}:{port}{path}"


def run(*args):
    return subprocess.run(list(map(str, args)), capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("path", ["/3m.bin", "/http/bytes/100000"])
def test_curl_speaks_with_us(gateway, tls_gateway, authority, path):
    size = b"3145728" if path == "/3m.bin" else b"100000"
    done = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}", "--http2-prior-knowledge",
               url(gateway, path))
    assert done.stdout == b"2 200 " + size, done
    port = tls_gateway.address[1]
    done = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_version} %{http_code} %{size_download}", "--http2", "--cacert",
               authority.cert, "--resolve", f"test.example:{port}:127.0.0.1", f"https://test.example:{port}{path}")
    assert done.stdout == b"2 200 " + size, done


def test_curl_uploads(gateway, tmp_path):
    file = tmp_path / "body"
    file.write_bytes(pattern(1 << 20))
    done = run("curl", "-s", "--http2-prior-knowledge", "-T", file, url(gateway, "/http/echo"))
    assert done.stdout == file.read_bytes()


@pytest.mark.skipif(not shutil.which("nghttp"), reason="nghttp2-client is not installed")
def test_nghttp_speaks_with_us(gateway, tls_gateway):
    for address in (url(gateway, "/100k.bin"), url(tls_gateway, "/100k.bin", "https")):
        done = run("nghttp", "--no-verify-peer", "-ns", "-m", "20", address)
        assert done.returncode == 0 and done.stdout.count(b"/100k.bin") >= 20, done
    assert run("nghttp", "--no-verify-peer", url(gateway, "/ten.txt")).stdout == b"0123456789"


@pytest.mark.skipif(not shutil.which("h2load"), reason="nghttp2-client is not installed")
@pytest.mark.parametrize("path", ["/3k.bin", "/100k.bin", "/http/bytes/3000", "/ajp/bytes/3000"])
def test_h2load_has_no_failures(gateway, tls_gateway, path):
    count = amount(2000)
    for address in (url(gateway, path), url(tls_gateway, path, "https")):
        done = run("h2load", "-n", count, "-c", 8, "-m", 16, address)
        assert f"{count} succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout.decode(), done.stdout
