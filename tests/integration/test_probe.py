"""`pontage check --probe`: every server is asked, and what is wrong with it is told with the setting to change (ADAPTERS P9)."""
import os
import re
import select
import socket

import pytest

from fakes import FakeAjp, FakeServer, ajp_answering, ajp_ok, answering, end_response, ok, refused_port, send_headers
from fakes_cgi import FakeFastCgi, FakeUwsgi, end_request, stderr, stdout
from harness import ADAPTERS, PROTOCOLS, backend_to, proxy_to, run_cli, to_yaml

FINE, FAILED, BAD_CONFIG = 0, 69, 78
WORDS = {"http": "HTTP", "ajp": "AJP", "fastcgi": "FastCGI", "scgi": "SCGI", "uwsgi": "uwsgi"}
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"


class Report:
    """What a probe said: `lines` are (level, backend, server, text), those that are well before the others."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        pattern = r"^\S+\.yaml:\d+:\d+: (ok|warning|error): backend `(.+?)` server `(.+?)`: (.+)$"
        self.lines = re.findall(pattern, done.stdout, re.M) + re.findall(pattern, done.stderr, re.M)

    def only(self, level):
        """The text about the one server there is, which must be of this level."""
        assert [line[0] for line in self.lines] == [level], (self.code, self.out, self.err)
        assert self.code == (FAILED if level == "error" else FINE), (self.out, self.err)
        return self.lines[0][3]


@pytest.fixture
def probe(tmp_path):
    def run(config, *options, idle=0):
        file = tmp_path / "probe.yaml"
        file.write_text(to_yaml({"listeners": ["127.0.0.1:0"], **config}))
        return Report(run_cli("check", "--probe", "--idle", idle, *options, "-c", file))
    return run


def silent(connection):
    """A server that accepts, reads and says nothing."""
    connection.ended()


def saying(data):
    """A server that answers whatever comes with these bytes, and closes."""
    def script(connection):
        connection.more()
        connection.send(data)
    return script


# Servers that are well


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_server_that_is_well_is_ok_with_its_time(probe, origin, adapter):
    text = probe({"backends": {"app": backend_to(origin, adapter)}, "routes": [{"proxy": "app"}]}).only("ok")
    assert re.fullmatch(r"HEAD / is answered with 200 in \d+\.\d ms", text)


@pytest.mark.smoke
def test_every_server_has_a_line_sorted_by_backend(probe, origin):
    backends = {"zeta": backend_to(origin, "http"), "alpha": {"servers": [{"url": f"ajp://{origin.ajp}", "name": "b"},
                                                                         {"url": f"ajp://{origin.ajp}", "name": "a"}]}}
    report = probe({"backends": backends, "routes": [{"path": "/z/*", "proxy": "zeta"}, {"proxy": "alpha"}]})
    assert report.code == FINE, report.err
    assert [(line[1], line[2]) for line in report.lines] == [("alpha", "b"), ("alpha", "a"), ("zeta", "a")]
    assert ": configuration is fine\n" in report.out


def test_what_is_sent_is_one_head_request_to_the_first_route(probe):
    def note(request):
        server.note(request)
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n"
    with FakeServer(answering(note)) as server:
        routes = [{"path": "/static/*", "files": "/"},
                  {"match": {"host": "www.example.org", "path": "/app/*"}, "rewrite": {"strip_prefix": "/app"}, "proxy": "app"},
                  {"proxy": "app"}]
        text = probe({**proxy_to(server.url), "routes": routes}).only("ok")
        assert text.startswith("HEAD /app/ is answered with 404"), "an application's own answer is no fault of the pairing"
        assert [(r.method, r.target, r.all("Host")) for r in server.requests] == [("HEAD", "/", ["www.example.org"])]
        assert server.requests[0].all("User-Agent")[0].startswith("pontage/")
        probe(proxy_to(server.url), "--path", "/ping?x=1").only("ok")
        assert server.requests[-1].target == "/ping?x=1"
        assert server.accepted == 2


def test_a_bad_configuration_is_told_before_anybody_is_asked(tmp_path):
    with FakeServer(silent) as server:
        file = tmp_path / "bad.yaml"
        file.write_text(to_yaml({**proxy_to(server.url), "liseners": []}))
        assert run_cli("check", "--probe", "-c", file).returncode == BAD_CONFIG
        assert server.accepted == 0


def test_without_servers_there_is_nothing_to_probe(probe):
    report = probe({"routes": [{"respond": "x"}]})
    assert report.code == FINE and "there are no servers to probe" in report.out


@pytest.mark.parametrize("options", [["--path", "/x"], ["--pool"], ["--idle", "1"], ["--probe", "--path", "x"]])
def test_options_of_the_probe_need_it(tmp_path, options):
    file = tmp_path / "good.yaml"
    file.write_text(to_yaml({"listeners": ["127.0.0.1:0"], "routes": [{"respond": "x"}]}))
    assert run_cli("check", *options, "-c", file).returncode == 2


# Servers that are not reached


@pytest.mark.parametrize("scheme", PROTOCOLS)
def test_P9_a_refused_connection_names_the_address(probe, scheme):
    url = f"{scheme}://127.0.0.1:{refused_port()}"
    text = probe(proxy_to(url)).only("error")
    assert f"nobody listens at {url}" in text and "`address`" in text


def test_a_name_that_does_not_resolve(probe):
    text = probe(proxy_to("http://nosuch.invalid:80")).only("error")
    assert "its name nosuch.invalid does not resolve" in text and "`url`" in text


def test_a_connect_without_an_answer_names_the_timeout(probe):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        blockers = []
        for _ in range(4):
            blockers.append(socket.socket())
            blockers[-1].setblocking(False)
            blockers[-1].connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        text = probe(proxy_to(url, timeouts={"connect": "200ms"})).only("error")
        assert "neither accepts nor refuses" in text and "`timeouts.connect`" in text
        for s in blockers:
            s.close()


def test_a_unix_socket_that_is_missing_dead_or_full(probe, tmp_path):
    assert "there is no socket" in probe(proxy_to(f"fastcgi+unix:{tmp_path}/none.sock")).only("error")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "dead.sock"))
        assert "nobody listens at the socket" in probe(proxy_to(f"fastcgi+unix:{tmp_path}/dead.sock")).only("error")
    with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX) as first:
        s.bind(str(tmp_path / "full.sock"))
        s.listen(0)
        first.connect(str(tmp_path / "full.sock"))
        text = probe(proxy_to(f"fastcgi+unix:{tmp_path}/full.sock", timeouts={"connect": "200ms"})).only("error")
        assert "its backlog at" in text and "`listen.backlog`" in text


def test_a_unix_socket_that_the_gateways_user_may_not_open(probe, tmp_path):
    """As root the probe becomes `user`, as the gateway would: what root may open says nothing."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "closed.sock"))
        s.listen(1)
        os.chmod(tmp_path / "closed.sock", 0o600 if os.geteuid() == 0 else 0)
        user = {"user": "nobody"} if os.geteuid() == 0 else {}
        text = probe({**proxy_to(f"fastcgi+unix:{tmp_path}/closed.sock"), **user}).only("error")
        assert "may not open the socket" in text and "`listen.mode`" in text


# Servers that speak something else


@pytest.mark.parametrize("configured", PROTOCOLS)
def test_a_server_of_another_protocol_is_recognised(probe, origin, configured):
    others = [other for other in PROTOCOLS if other != configured]
    servers = [{"url": f"{configured}://{getattr(origin, other)}", "name": other} for other in others]
    report = probe(proxy_to(*servers))
    assert report.code == FAILED
    assert [line[2] for line in report.lines] == others, (report.out, report.err)
    for level, _, other, text in report.lines:
        assert level == "error" and text.startswith(f"it speaks {WORDS[other]}, not {WORDS[configured]}; write `{other}://`"), text


@pytest.mark.parametrize("scheme", ["http", "ajp"])
def test_a_server_that_speaks_tls_is_recognised(probe, scheme):
    with FakeServer(saying(TLS_ALERT)) as server:
        assert "it speaks TLS" in probe(proxy_to(f"{scheme}://127.0.0.1:{server.port}")).only("error")


@pytest.mark.parametrize("scheme", ["ajp", "fastcgi"])
def test_a_page_without_a_status_line_is_http_too(probe, scheme):
    with FakeServer(saying(b"<!DOCTYPE html><title>400</title>")) as server:
        assert "it speaks HTTP" in probe(proxy_to(f"{scheme}://127.0.0.1:{server.port}")).only("error")


@pytest.mark.parametrize("scheme, text", [("ajp", "it does not answer CPING"), ("http", "closes the connection without an answer"),
                                          ("fastcgi", "closes the connection without an answer")])
def test_a_server_that_closes_at_once(probe, scheme, text):
    with FakeServer(lambda c: c.more()) as server:
        assert text in probe(proxy_to(f"{scheme}://127.0.0.1:{server.port}")).only("error")


def test_a_server_that_sends_what_nobody_understands(probe):
    with FakeServer(saying(b"-ERR unknown command\r\n")) as server:
        assert "what it sends is not HTTP" in probe(proxy_to(server.url)).only("error")


def test_a_silent_server_is_given_up(probe):
    with FakeServer(silent) as server:
        text = probe(proxy_to(server.url, timeouts={"first_byte": "200ms"})).only("error")
        assert "sends nothing within 200ms" in text


# AJP


def test_P9_A10_a_secret_that_is_missing_or_wrong(probe, start_origin):
    origin = start_origin(secret="toll")
    text = probe(proxy_to(f"ajp://{origin.ajp}")).only("error")
    assert "wants a secret" in text and "`secret_file`" in text and "secretRequired" in text
    report = probe(proxy_to(f"ajp://{origin.ajp}", secret="guess-7"))
    text = report.only("error")
    assert "wants another secret" in text and "`secret_file`" in text
    assert "guess-7" not in report.out + report.err
    probe(proxy_to(f"ajp://{origin.ajp}", secret="toll")).only("ok")


def test_P9_A9_an_attribute_that_is_refused(probe):
    def answer(request):
        return send_headers(403) + end_response(0) if "JK_LB_ACTIVATION" in request.attributes else ajp_ok(b"")
    with FakeAjp(ajp_answering(answer)) as server:
        text = probe(proxy_to(server.url)).only("error")
        assert "JK_LB_ACTIVATION" in text and "`allowedRequestAttributesPattern`" in text


def test_an_applications_own_403_is_no_symptom(probe):
    with FakeAjp(ajp_answering(send_headers(403) + end_response(1))) as server:
        assert "answered with 403" in probe(proxy_to(server.url)).only("ok")


def test_P9_A2_packet_sizes_that_are_unequal(probe, start_origin):
    origin = start_origin(packet_size=8192)
    text = probe(proxy_to(f"ajp://{origin.ajp}", packet_size="16KiB")).only("error")
    assert "16384 bytes" in text and "`packet_size`" in text and "`packetSize`" in text
    probe(proxy_to(f"ajp://{origin.ajp}")).only("ok")
    large = start_origin(packet_size=65536)
    probe(proxy_to(f"ajp://{large.ajp}", packet_size="64KiB")).only("ok")


def test_a_pool_larger_than_what_the_server_serves(probe):
    """Only when asked for: it takes the server's connections for a moment."""
    def few(connection):
        if connection.number % 100 > 5:
            connection.ended()
        ajp_answering(ajp_ok(b""))(connection)
    with FakeAjp(few) as server:
        config = proxy_to(server.url, connections={"max": 20}, timeouts={"cping": "300ms"})
        probe(config).only("ok")
        assert server.accepted == 1
        text = probe(config, "--pool").only("warning")
        assert re.search(r"while [34] are in use", text) and "`connections.max`" in text and "`maxThreads`" in text
    with FakeAjp(ajp_answering(ajp_ok(b""))) as server:
        probe(proxy_to(server.url, connections={"max": 20}), "--pool").only("ok")
        assert server.accepted >= 20


# Servers that get CGI variables


def fastcgi_saying(words, status):
    def app(connection, request):
        connection.read_body(request)
        connection.send(stderr(words) + stdout(b"Status: %d\r\nContent-Type: text/plain\r\n\r\n" % status) + end_request())
    return app


@pytest.mark.parametrize("words, status, told, setting", [
    (b"Primary script unknown\n", 404, "it finds no script /srv/www/a/index.php", "`document_root`"),
    (b"Access to the script '/srv/www/a/index.php' has been denied (see security.limit_extensions)\n", 403,
     "it may not run /srv/www/a/index.php", "`security.limit_extensions`")])
def test_P31_a_script_that_php_does_not_find_or_run(probe, words, status, told, setting):
    with FakeFastCgi(fastcgi_saying(words, status)) as server:
        config = {**proxy_to(server.url, document_root="/srv/www"), "routes": [{"path": "/a/*", "proxy": "app"}]}
        text = probe(config).only("error")
        assert told in text and setting in text


def test_U1_P25_a_uwsgi_server_with_a_small_buffer(probe):
    def app(connection, request):
        if len(request.raw) > 4096 + 4:
            raise EOFError
        connection.read_body(request)
        connection.answer(b"HTTP/1.1 200 OK\r\n\r\n")
    with FakeUwsgi(app) as server:
        text = probe(proxy_to(server.url)).only("warning")
        assert "65535 bytes of variables" in text and "`buffer-size`" in text and "`max_vars`" in text
        probe(proxy_to(server.url, max_vars="4KiB")).only("ok")


# Idle connections


def closing_idle_after(seconds):
    def script(connection):
        while connection.pending or select.select([connection.socket], [], [], seconds)[0]:
            connection.read_request()
            connection.send(ok(b""))
    return script


def test_P5_an_idle_timeout_longer_than_the_servers_is_seen(probe):
    with FakeServer(closing_idle_after(0.3)) as server:
        text = probe(proxy_to(server.url), idle=20).only("warning")
        seen = re.search(r"idle for (\d+)ms", text)
        assert seen and 250 <= int(seen[1]), text
        assert "`connections.idle_timeout`" in text
        probe(proxy_to(server.url, connections={"idle_timeout": "150ms"}), idle=20).only("ok")


def test_a_server_that_says_how_long_it_keeps_connections_is_believed(probe):
    with FakeServer(answering(ok(b"", "Keep-Alive: timeout=5, max=100\r\n"))) as server:
        assert "idle for 5s" in probe(proxy_to(server.url), idle=20).only("warning")
        probe(proxy_to(server.url, connections={"idle_timeout": "4s"})).only("ok")
