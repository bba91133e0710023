"""FastCGI, SCGI and uwsgi servers, good and bad (ADAPTERS sections 2 to 6; the ids are those of that list).

Most tests share one gateway and one fake server a protocol; each has a path of its own there, whose app it chooses.
"""
import hashlib
import json
import os
import select
import threading
import time

import pytest

from fakes_cgi import (END, GET_VALUES_RESULT, PARAMS, SERVERS, STDOUT, UNKNOWN_TYPE, Aborted, FakeFastCgi, FakeScgi,
                       FakeUwsgi, Gate, cutting, end_request, fcgi_answer, giving, giving_raw, record, stderr, stdout)
from harness import SCALE, Gateway, amount, eventually, in_parallel, proxy_to, run_cli

pytestmark = pytest.mark.smoke
PROTOCOLS = ["fastcgi", "scgi", "uwsgi"]
ALL = PROTOCOLS + ["kept"]  # FastCGI with keep_alive
SHORT = f"{300 * SCALE}ms"
SOON = 2 * SCALE  # seconds within which the end of something is noticed

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
every_way = pytest.mark.parametrize("protocol", ALL)


class Front(Gateway):
    """A gateway with the routes /fastcgi, /kept, /scgi and /uwsgi, and the servers behind them."""

    def __init__(self, folder):
        self.servers = {protocol: SERVERS[protocol]() for protocol in PROTOCOLS}
        self.servers["kept"] = FakeFastCgi()
        backends = {name: {"servers": [server.url], "request_buffering": "auto"}
                    for name, server in self.servers.items()}
        backends["kept"]["keep_alive"] = True
        for name in PROTOCOLS:
            backends[f"{name}-odd"] = {**backends[name], "underscored": ["X_Odd", "X_Other"],
                                       "params": {"APP_ENV": "prod"}}
            backends[f"{name}-raw"] = {**backends[name], "request_buffering": "off"}
            backends[f"{name}-whole"] = {**backends[name], "request_buffering": "on"}
            backends[f"{name}-hasty"] = {**backends[name], "timeouts": {"first_byte": SHORT, "idle": SHORT}}
        routes = [{"path": f"/{name}/*", "proxy": name, "rewrite": {"strip_prefix": f"/{name}"}, "nul": "allow"}
                  for name in backends]
        super().__init__(folder, {"workers": 1, "backends": backends, "routes": routes})

    def server(self, name):
        return self.servers[name.split("-")[0]]

    def path(self, name, app):
        """The path, at the gateway, of an app behind the backend `name`."""
        return f"/{name}{self.server(name).serve(app)}"

    def ask(self, name, app, method="GET", query="", **options):
        return self.request(method, self.path(name, app) + query, **options)

    def variables(self, name, path="/", method="GET", **options):
        """What a server is told, as it says itself."""
        response = self.request(method, f"/{name}{path}", **options)
        assert response.status == 200, response
        return response.json()

    def stop(self, check=True):
        super().stop(check)
        for server in self.servers.values():
            server.stop()


@pytest.fixture(scope="module")
def shared_front(tmp_path_factory):
    process = Front(tmp_path_factory.mktemp("front"))
    yield process
    assert process.alive(), process.output()
    process.stop()


@pytest.fixture
def front(shared_front):
    """The shared gateway. What its fake servers found wrong about the requests of this test fails it."""
    yield shared_front
    for server in shared_front.servers.values():
        failures, server.failures = server.failures, []
        if failures:
            raise failures[0]


def outcome(response):
    return "cut" if response.truncated else response.status


def read_chunk(client):
    """One chunk of an answer; empty at its end."""
    size = int(client._line(), 16)
    data = client.read_exactly(size)
    assert client._line() == ""
    return data


def text(body, headers=""):
    body = body if isinstance(body, bytes) else body.encode()
    return f"Content-Type: text/plain\r\n{headers}\r\n".encode("latin-1") + body


def sized(body, headers=""):
    return text(body, f"Content-Length: {len(body)}\r\n{headers}")


def digest(connection, request):
    """An app that tells the length and the hash of the body it got."""
    connection.read_body(request)
    connection.answer(text(f"{request.vars['CONTENT_LENGTH']} {hashlib.sha256(request.body).hexdigest()}"))


def digest_of(body):
    return f"{len(body)} {hashlib.sha256(body).hexdigest()}".encode()


def upload_head(path, length=None, more=""):
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"POST {path} HTTP/1.1\r\nHost: a\r\n{framing}\r\n{more}\r\n".encode()


# ---- the variables (E, X2 to X4)

@every_protocol
def test_E1_the_set_of_variables_is_complete(start, protocol):
    with SERVERS[protocol]() as server:
        gateway = start({**proxy_to(server.url, document_root="/srv/www/"), "trusted_proxies": ["127.0.0.1"]})
        with gateway.connect() as client:
            port = client.socket.getsockname()[1]
            fields = {"Content-Type": "text/x", "Authorization": "Basic eDp5", "X-Some-Thing": "9"}
            response = client.request("POST", "/app/x.php/in%20fo?a=b%20c&d", host="shop.example:8099", body=b"12345",
                                      headers=fields)
        got = response.json()
        want = {
            "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_NAME": "shop.example", "SERVER_ADDR": "127.0.0.1",
            "SERVER_PORT": "8099", "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_METHOD": "POST", "REQUEST_SCHEME": "http",
            "REQUEST_URI": "/app/x.php/in%20fo?a=b%20c&d", "QUERY_STRING": "a=b%20c&d", "SCRIPT_NAME": "/app/x.php",
            "SCRIPT_FILENAME": "/srv/www/app/x.php", "DOCUMENT_ROOT": "/srv/www", "PATH_INFO": "/in fo",
            "PATH_TRANSLATED": "/srv/www/in fo", "REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": str(port),
            "CONTENT_TYPE": "text/x", "CONTENT_LENGTH": "5", "REDIRECT_STATUS": "200", "HTTP_HOST": "shop.example:8099",
            "HTTP_X_SOME_THING": "9", " body": b"12345".hex(),
        }
        assert {name: got.get(name) for name in want} == want
        assert got["SERVER_SOFTWARE"].startswith("pontage")
        # Only what the gateway itself has found out about a user would be said here.
        assert not {"HTTPS", "REMOTE_USER", "AUTH_TYPE"} & got.keys()
        behind_tls = gateway.get("/", headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}).json()
        assert (behind_tls["HTTPS"], behind_tls["REQUEST_SCHEME"]) == ("on", "https")
        assert behind_tls["REMOTE_ADDR"] == "203.0.113.9"


@every_protocol
def test_E1_methods_and_versions_are_told_as_they_came(front, protocol):
    for method in ("GET", "DELETE", "OPTIONS", "PROPFIND", "QUERY"):
        assert front.variables(protocol, method=method)["REQUEST_METHOD"] == method
    with front.connect() as client:
        client.send(f"GET /{protocol}/ HTTP/1.0\r\n\r\n")
        got = client.read_response().json()
        assert got["SERVER_PROTOCOL"] == "HTTP/1.0" and got["SERVER_NAME"]


@every_protocol
def test_E2_a_request_without_a_body_has_the_length_of_its_protocol(front, protocol):
    for options in ({}, {"method": "POST", "headers": {"Content-Length": "0"}},
                    {"method": "POST", "body": b"", "chunked": True}):
        got = front.variables(protocol, **options)
        assert "HTTP_CONTENT_LENGTH" not in got
        if protocol == "fastcgi":
            assert got.get("CONTENT_LENGTH", "") == ""
        elif protocol == "scgi":
            assert list(got)[0] == "CONTENT_LENGTH" and got["CONTENT_LENGTH"] == "0"
        else:
            assert got.get("CONTENT_LENGTH", "") in ("", "0")


@every_protocol
def test_E2_the_length_is_the_body_s(front, protocol):
    assert front.variables(protocol, method="POST", body=b"123")["CONTENT_LENGTH"] == "3"
    got = front.variables(protocol, method="POST", body=b"1234567", chunked=True)
    assert got["CONTENT_LENGTH"] == "7" and "HTTP_TRANSFER_ENCODING" not in got


@every_protocol
def test_E3_dangerous_fields_make_no_variable(front, protocol):
    got = front.variables(protocol, method="POST", body=b"x", headers=[
        ("Proxy", "http://evil"), ("Redirect-Status", "302"), ("Content-Type", "text/plain"), ("X-Named", "1"),
        ("Connection", "X-Named, TE"), ("TE", "trailers"), ("Keep-Alive", "5"), ("Proxy-Connection", "close"),
        ("Trailer", "X-T"), ("Upgrade", "h2c"), ("Proxy-Authorization", "Basic eA==")])
    for name in ("PROXY", "REDIRECT_STATUS", "CONTENT_LENGTH", "CONTENT_TYPE", "TRANSFER_ENCODING", "CONNECTION", "TE",
                 "X_NAMED", "KEEP_ALIVE", "PROXY_CONNECTION", "TRAILER", "UPGRADE", "EXPECT"):
        assert f"HTTP_{name}" not in got, name
    assert got["REDIRECT_STATUS"] == "200"
    chunked = front.variables(protocol, method="POST", body=b"x", chunked=True)
    assert "HTTP_TRANSFER_ENCODING" not in chunked and "HTTP_CONTENT_LENGTH" not in chunked


@every_protocol
def test_E3_authorization_reaches_the_application(front, protocol):
    assert front.variables(protocol, headers={"Authorization": "Bearer t"})["HTTP_AUTHORIZATION"] == "Bearer t"


@every_protocol
def test_E4_names_with_underscores_are_dropped_unless_listed(front, protocol):
    fields = {"X_Odd": "odd", "X_More": "more", "X.Dot": "dot"}
    assert not {"HTTP_X_ODD", "HTTP_X_MORE", "HTTP_X_DOT"} & front.variables(protocol, headers=fields).keys()
    listed = front.variables(f"{protocol}-odd", headers=fields)
    assert listed["HTTP_X_ODD"] == "odd" and "HTTP_X_MORE" not in listed and "HTTP_X_DOT" not in listed
    assert front.variables(f"{protocol}-odd", headers={"x_odd": "lower"})["HTTP_X_ODD"] == "lower"


@every_protocol
@pytest.mark.parametrize("fields", [["X-Odd", "X_Odd"], ["X_Odd", "X-Odd"], ["X_Other", "X.Other"], ["X!Odd", "X-Odd"],
                                    ["Content!Length"], ["Content.Type"], ["X-Forwarded.For"]])
def test_E4_names_that_would_be_one_variable_are_400(front, protocol, fields):
    for name in (protocol, f"{protocol}-odd"):
        before = front.server(protocol).seen
        assert front.get(f"/{name}/", headers=[(field, "1") for field in fields]).status == 400
        assert front.server(protocol).seen == before


@every_protocol
@pytest.mark.parametrize("field", ["X_Forwarded_For", "X_Forwarded-Proto", "Content_Length", "Content_Type",
                                   "Authori_zation", "Transfer_Encoding", "Proxy_Connection", "Redirect_Status"])
def test_E4_a_name_cannot_pose_as_a_known_field(front, protocol, field):
    response = front.get(f"/{protocol}-odd/", headers={field: "evil"})
    assert response.status in (200, 400)
    assert b"evil" not in response.body


@every_protocol
def test_E5_configured_variables_are_set_and_no_field_changes_them(front, protocol):
    got = front.variables(f"{protocol}-odd", headers={"App-Env": "evil"})
    assert got["APP_ENV"] == "prod" and got["HTTP_APP_ENV"] == "evil"


@pytest.mark.parametrize("name", ["REMOTE_ADDR", "SCRIPT_FILENAME", "CONTENT_LENGTH", "HTTP_HOST", "A=B", "HTTPS"])
def test_E5_the_configuration_cannot_replace_computed_variables(tmp_path, name):
    file = tmp_path / "bad.yaml"
    file.write_text(json.dumps({"listeners": ["127.0.0.1:0"], **proxy_to("scgi://127.0.0.1:1", params={name: "x"})}))
    checked = run_cli("check", "-c", file)
    assert checked.returncode != 0 and name in checked.stdout + checked.stderr


@every_protocol
def test_X3_fields_that_come_twice_are_one_variable(front, protocol):
    got = front.variables(protocol, headers=[
        ("X-Dup", "a"), ("Cookie", "a=1"), ("x-dup", "b"), ("Cookie", "b=2"), ("Accept", "c"), ("X-DUP", ""),
        ("accept", "d")])
    assert got["HTTP_X_DUP"] == "a, b, " and got["HTTP_COOKIE"] == "a=1; b=2" and got["HTTP_ACCEPT"] == "c, d"


@every_protocol
def test_X4_there_is_one_host_and_it_is_the_routed_one(front, protocol):
    assert front.variables(protocol, host="one.example:81")["HTTP_HOST"] == "one.example:81"
    with front.connect() as client:
        client.send(f"GET http://abs.example:81/{protocol}/p?q HTTP/1.1\r\nHost: abs.example:81\r\n\r\n")
        got = client.read_response().json()
    assert (got["HTTP_HOST"], got["SERVER_NAME"], got["SERVER_PORT"]) == ("abs.example:81", "abs.example", "81")
    assert (got["REQUEST_URI"], got["PATH_INFO"]) == ("/p?q", "/p")


@every_protocol
@pytest.mark.parametrize("target, query", [("/p", ""), ("/p?", ""), ("/p?a=%26?b", "a=%26?b"), ("/p??", "?")])
def test_E1_the_query_is_always_there_and_the_uri_tells_absent_from_empty(front, protocol, target, query):
    got = front.variables(protocol, target)
    assert got["QUERY_STRING"] == query and got["REQUEST_URI"] == target


@every_protocol
def test_bytes_beyond_ascii_pass_unchanged(front, protocol):
    got = front.variables(protocol, "/%C3%A4%ff?%e4", headers={"X-Latin": "caf\xe9 \xc3\xa4"})
    assert got["HTTP_X_LATIN"] == "caf\xe9 \xc3\xa4" and got["PATH_INFO"] == "/\xc3\xa4\xff"
    assert got["REQUEST_URI"].upper() == "/%C3%A4%FF?%E4" and got["QUERY_STRING"] == "%e4"


# ---- which script a path names (F16, P32)

MAPPINGS = {
    "tree": ({"document_root": "/srv/www"}, {
        "/": ("/index.php", None), "/a/": ("/a/index.php", None), "/x.php": ("/x.php", None),
        "/a/x.php": ("/a/x.php", None), "/x.php/": ("/x.php", "/"), "/x.php/a/b": ("/x.php", "/a/b"),
        "/x.php/y.php": ("/x.php", "/y.php"), "/x.php.php/y": ("/x.php.php", "/y"),
        "/x.phpx/y.php/z": ("/x.phpx/y.php", "/z"), "/x.PHP": ("/index.php", None), "/pretty/url": ("/index.php", None),
        "/x%2Ephp/a%20b": ("/x.php", "/a b"), "/x.php/%3Fa%23b": ("/x.php", "/?a#b"),
        "/%C4%B0%C4%B0/x.php/%C4%B0.php": ("/\xc4\xb0\xc4\xb0/x.php", "/\xc4\xb0.php"),
        "/x.php/a//b": ("/x.php", "/a/b"), "/a/../x.php/../y.php/i": ("/y.php", "/i"), "/.php/x": ("/index.php", None),
    }),
    "index and extensions": ({"document_root": "/srv/www", "index": "main.cgi", "extensions": [".cgi", ".pl"]}, {
        "/": ("/main.cgi", None), "/x.php": ("/main.cgi", None), "/x.pl/y.cgi": ("/x.pl", "/y.cgi"),
        "/x.cgi": ("/x.cgi", None), "/b/": ("/b/main.cgi", None), "/x.cgi/y.pl/z": ("/x.cgi", "/y.pl/z"),
    }),
    "one script below the root": ({"document_root": "/srv/www", "script": "app.php"}, {
        "/": ("/app.php", "/"), "/x.php/y": ("/app.php", "/x.php/y"),
    }),
    "one script": ({"script": "/srv/app/run.py", "script_name": "/app"}, {
        "/x": ("/app", "/x"), "/a%20b": ("/app", "/a b"),
    }),
    "mounted": ({"script_name": "/app"}, {
        "/app": ("/app", None), "/app/": ("/app", "/"), "/app/x/y": ("/app", "/x/y"), "/apple/x": ("", "/apple/x"),
        "/other": ("", "/other"), "/": ("", "/"),
    }),
    "an application": ({}, {"/": ("", "/"), "/x%41/y.php": ("", "/xA/y.php"), "//a//b": ("", "/a/b")}),
}
FILENAMES = {"tree": "/srv/www{}", "index and extensions": "/srv/www{}", "one script below the root": "/srv/www{}",
             "one script": "/srv/app/run.py", "mounted": None, "an application": None}


@pytest.mark.parametrize("mapping", MAPPINGS)
@every_protocol
def test_F16_P32_the_script_and_the_path_behind_it(start, protocol, mapping):
    keys, table = MAPPINGS[mapping]
    with SERVERS[protocol]() as server:
        gateway = start({**proxy_to(server.url, **keys), "workers": 1})
        with gateway.connect() as client:
            for path, (name, behind) in table.items():
                got = client.request("GET", path + "?q=/z.php").json()
                filename = FILENAMES[mapping] and FILENAMES[mapping].format(name)
                have = (got["SCRIPT_NAME"], got.get("PATH_INFO"), got.get("SCRIPT_FILENAME"))
                assert have == (name, behind, filename), path
                root = keys.get("document_root")
                assert got.get("DOCUMENT_ROOT") == root
                assert got.get("PATH_TRANSLATED") == (root + behind if root and behind else None), path


def test_U2_slashes_in_front_of_the_path_are_one_for_an_application(start):
    with FakeUwsgi() as server:
        gateway = start({**proxy_to(server.url), "merge_slashes": False, "workers": 1})
        assert gateway.get("///a//b").json()["PATH_INFO"] == "/a//b"


@every_protocol
@pytest.mark.parametrize("escape", ["%0d", "%0A", "%0d%0a", "%00"])
def test_F16_line_ends_and_nul_in_the_path_are_400(front, protocol, escape):
    before = front.server(protocol).seen
    with front.connect() as client:
        for place in ("/x.php/a{}b", "/{}x.php", "/x.php{}", "/a{}/"):
            assert client.request("GET", f"/{protocol}" + place.format(escape)).status == 400, place
    assert front.server(protocol).seen == before
    # In the query they stay escaped and harm nobody.
    assert front.variables(protocol, f"/x?{escape}")["QUERY_STRING"] == escape


@every_way
def test_E6_a_request_that_cannot_be_put_into_variables_touches_no_server(front, protocol):
    """Otherwise whoever sends nonsense has connections to the server opened, and kept ones closed."""
    front.ask(protocol, giving(text("warm")))
    refused = [("GET", "/%0a", {}, 400), ("GET", "/", {"X-Odd": "1", "X_Odd": "2"}, 400)]
    before = front.server(protocol).accepted
    for method, path, headers, status in refused:
        assert front.request(method, f"/{protocol}{path}", headers=headers).status == status
    front.ask(protocol, giving(text("after")))
    fresh = 0 if protocol == "kept" else 1  # for this last one
    assert front.server(protocol).accepted == before + fresh


# ---- the bytes of a request (S1, U1, F1 to F4)

def test_S1_an_scgi_request_is_laid_out_to_the_letter(front):
    seen = []

    def app(connection, request):
        connection.read_body(request)
        seen.append(request)
        connection.answer(text("ok"))
    front.ask("scgi", app, "POST", body=b"body", headers={"X-A": "b"})
    request, = seen
    block = request.raw[request.raw.index(b":") + 1:-1]
    assert request.raw.startswith(b"%d:CONTENT_LENGTH\x004\0" % len(block)) and request.raw.endswith(b"\0,")
    assert b"\0SCGI\x001\0" in block and b"\0HTTP_X_A\0b\0" in block
    assert request.pairs[0] == ("CONTENT_LENGTH", "4") and request.pairs[1] == ("SCGI", "1")


def test_U1_a_uwsgi_block_is_little_endian(front):
    seen = []

    def app(connection, request):
        connection.read_body(request)
        seen.append(request)
        connection.answer(text("ok"))
    long = "v" * 300
    front.ask("uwsgi", app, headers={"X-Long": long})
    request, = seen
    size = len(request.raw) - 4
    assert request.raw[:4] == bytes([0, size & 255, size >> 8, 0])
    assert b"\x0b\0HTTP_X_LONG\x2c\1" + long.encode() in request.raw
    assert request.vars["HTTP_X_LONG"] == long


@pytest.mark.parametrize("keep", [False, True])
def test_F1_F4_a_fastcgi_request_is_laid_out_to_the_letter(front, keep):
    seen = []

    def app(connection, request):
        connection.read_body(request)
        seen.append(request)
        connection.answer(text("ok"))
    path = front.path("kept" if keep else "fastcgi", app)
    front.get(path, headers={"X-Long": "v" * 127, "X-Longer": "w" * 128, "X-" + "N" * 200: "n"})
    front.request("POST", path, body=b"body")
    for request, stdin in zip(seen, ([0], [4, 0])):
        # The fake has checked versions, ids, reserved bytes, the order, and that no pair is in two records.
        assert request.raw.startswith(b"\1\1\0\1\0\x08\0\0" + b"\0\1" + bytes([keep]) + bytes(5))
        assert request.keep == keep and request.params[-1] == 0 and len(request.params) == 2
        assert request.stdin == stdin
    assert b"\x0b\x7fHTTP_X_LONG" + b"v" * 127 in seen[0].raw
    assert b"\x0d\x80\0\0\x80HTTP_X_LONGER" + b"w" * 128 in seen[0].raw
    assert b"\x80\0\0\xcf\x01HTTP_X_" + b"N" * 200 + b"n" in seen[0].raw


def test_F2_F3_large_heads_take_several_records_of_whole_pairs(start):
    def app(connection, request):
        connection.read_body(request)
        connection.answer(text(json.dumps({"params": request.params, "fields": len(
            [v for n, v in request.pairs if n.startswith("HTTP_X_") and len(v) == 3000])})))
    with FakeFastCgi(app) as server:
        gateway = start({**proxy_to(server.url), "limits": {"headers": "250KiB"}, "workers": 1})
        for count in (10, 21, 22, 43, 65):
            got = gateway.get("/", headers={f"X-{i}": "v" * 3000 for i in range(count)}).json()
            assert got["fields"] == count and got["params"][-1] == 0
            assert all(0 < size <= 65535 for size in got["params"][:-1])
            assert sum(got["params"]) > count * 3000


def test_F3_E6_what_a_protocol_cannot_carry_is_431_and_touches_no_server(start):
    limits = {"header": "200KiB", "headers": "250KiB"}
    for protocol in PROTOCOLS:
        with SERVERS[protocol]() as server:
            gateway = start({**proxy_to(server.url), "limits": limits, "workers": 1})
            large = gateway.get("/", headers={"X-Large": "v" * 70_000})
            assert large.status == (200 if protocol == "scgi" else 431), protocol
            many = gateway.get("/", headers={f"X-{i}": "v" * 10_000 for i in range(7)})
            assert many.status == (431 if protocol == "uwsgi" else 200), protocol
            assert gateway.get("/").status == 200
            assert server.seen == {"fastcgi": 2, "scgi": 3, "uwsgi": 1}[protocol]
            assert server.accepted == server.seen, protocol


def test_U1_max_vars_bounds_the_block_and_the_log_names_it(start):
    with FakeUwsgi() as server:
        gateway = start({**proxy_to(server.url, max_vars="4KiB"), "workers": 1})
        assert gateway.get("/", headers={"X-A": "v" * 2000}).status == 200
        assert gateway.get("/", headers={"X-A": "v" * 4000}).status == 431
        eventually(lambda: "max_vars" in gateway.output(), "the log to name the limit")
        assert server.seen == 1


def test_U1_a_uwsgi_that_closes_at_once_is_502_and_the_log_has_a_hint(start):
    def app(connection, _):
        connection.close()
        raise EOFError
    with FakeUwsgi(app) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        assert gateway.get("/", headers={"X-A": "v" * 5000}).status == 502
        eventually(lambda: "buffer-size" in gateway.output(), "the hint in the log")


SIZES = [0, 1, 65527, 65528, 65529, 131056, 131070]


@every_way
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chunked", [False, True])
def test_F2_F12_F13_bodies_arrive_whole_with_their_length(front, protocol, size, chunked):
    seen, body = [], os.urandom(size)

    def app(connection, request):
        connection.read_body(request)  # FastCGI: sees to it that STDIN has CONTENT_LENGTH bytes
        seen.append(request)
        connection.answer(text("ok"))
    assert front.ask(protocol, app, "POST", body=body, chunked=chunked).body == b"ok"
    request, = seen
    assert request.body == body and request.length == size
    assert all(0 < n <= 65535 for n in request.stdin[:-1]) and request.stdin[-1:] in ([], [0])
    assert not size or request.vars["CONTENT_LENGTH"] == str(size)


@pytest.mark.parametrize("buffering", ["raw", "whole"])
@every_protocol
def test_F12_bodies_arrive_whole_with_buffering_off_and_on(front, protocol, buffering):
    for size in SIZES[1:]:
        body = os.urandom(size)
        assert front.ask(f"{protocol}-{buffering}", digest, "POST", body=body).body == digest_of(body)


@every_protocol
def test_F2_bytes_of_a_body_that_look_like_records_are_only_a_body(front, protocol):
    body = (fcgi_answer(text("evil")) + record(1, b"\0\1\0\0\0\0\0\0") + record(PARAMS, b"\x01\x01AB")) * 2000
    assert front.ask(protocol, digest, "POST", body=body).body == digest_of(body)


@every_protocol
def test_F12_without_buffering_a_body_of_unknown_length_is_411(front, protocol):
    before = front.server(protocol).seen
    response = front.ask(f"{protocol}-raw", digest, "POST", body=b"x" * 100, chunked=True)
    assert response.status == 411
    assert front.server(protocol).seen == before
    assert front.ask(f"{protocol}-raw", digest, "POST", body=b"x" * 100).body == digest_of(b"x" * 100)


@every_protocol
def test_S2_the_sending_side_stays_open_after_the_request(front, protocol):
    quiet = []

    def app(connection, request):
        connection.read_body(request)
        quiet.append(connection.quiet())
        connection.answer(text("ok"))
    for body in (None, b"body"):
        assert front.ask(protocol, app, "POST", body=body).body == b"ok"
    assert quiet == [True, True]


# ---- answers, cut and merged (F5)

HEAD = b"Content-Type: text/plain\r\nX-A: " + b"y" * 30 + b"\r\n\r\n"
PADDED = (stderr(b"a warning\n", 3) + stdout(HEAD[:10], 5) + stdout(HEAD[10:]) + stdout(b"fir", 1) + stderr(b"", 8) +
          stdout(b"stsecond", 255) + stdout(b"", 8) + end_request(padding=7))


def in_two(data):
    """An app that sends these bytes in two pieces, of which the first has int(query) bytes."""
    def app(connection, request):
        connection.read_body(request)
        connection.send(data[:int(request.query)])
        select.select([], [], [], 0.001)  # so that it really arrives in two pieces; nothing depends on it
        connection.send(data[int(request.query):])
    return app


@every_way
def test_F5_an_answer_may_be_cut_at_every_byte(front, protocol):
    plain = HEAD + b"firstsecond"
    whole = {"scgi": plain, "uwsgi": b"HTTP/1.1 200 OK\r\n" + plain}.get(protocol, PADDED)
    path, before = front.path(protocol, in_two(whole)), front.server(protocol).accepted
    with front.connect() as client:
        for cut in range(1, len(whole)):
            response = client.request("GET", f"{path}?{cut}")
            assert response.status == 200 and response.body == b"firstsecond" and not response.truncated, cut
            assert response.header("X-A") == "y" * 30
    assert front.server(protocol).accepted - before <= (1 if protocol == "kept" else len(whole))


def test_F5_an_answer_may_come_byte_by_byte(front):
    def app(connection, request):
        connection.read_body(request)
        for byte in PADDED:
            connection.send(bytes([byte]))
    for name in ("fastcgi", "kept"):
        assert front.ask(name, app).body == b"firstsecond"


def test_F5_the_head_may_end_with_its_record_and_come_in_records_of_one_byte(front):
    for name in ("fastcgi", "kept"):
        assert front.ask(name, giving_raw(stdout(HEAD) + stdout(b"body") + end_request())).body == b"body"
        assert front.ask(name, giving_raw(fcgi_answer(HEAD + b"body", size=1))).body == b"body"


@every_way
def test_F5_large_answers_arrive_whole(front, protocol):
    body = os.urandom(amount(5_000_000))
    wire = fcgi_answer(text(body), padding=255) if protocol in ("fastcgi", "kept") else text(body)

    def app(connection, request):
        connection.read_body(request)
        connection.send(wire)
    response = front.ask(protocol, app)
    assert response.status == 200 and response.body == body and not response.truncated


@pytest.mark.parametrize("line", [b"PHP Warning: \x1b[31mred\x07\x00 in\r x\xff", b"x" * 3000],
                         ids=["controls", "long"])
def test_F5_F7_X21_much_stderr_before_the_answer_goes_to_the_log_escaped(start, line):
    noise = (line + b"\n") * (300_000 // len(line))

    def app(connection, request):
        connection.read_body(request)
        for at in range(0, len(noise), 60_000):
            connection.send(stderr(noise[at:at + 60_000], 5))
        connection.send(fcgi_answer(text("answer")))
    with FakeFastCgi(app) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        with gateway.connect() as client:
            for _ in range(3):
                assert client.request("GET", "/").body == b"answer"
        eventually(lambda: "says: " in gateway.output(), "the log to have the line")
        log = gateway.log.read_bytes()
        assert not any(byte < 32 and byte != 10 for byte in log), "control bytes in the log"
        assert (b"PHP Warning: \\x1B[31mred\\x07\\x00 in\\x0D x\\xFF\n" in log) == (line[:3] == b"PHP")
        assert log.count(b"says: ") <= 20 and all(len(one) < 9000 for one in log.split(b"\n"))  # F7: rate-limited


def test_F5_F7_stderr_in_the_midst_of_the_answer_is_no_part_of_it(front):
    wire = (stdout(HEAD[:20]) + stderr(b"one\n") + stdout(HEAD[20:]) + stderr(b"two") + stdout(b"be") +
            stderr(b" more\n" * 900) + stdout(b"fore") + end_request())
    assert front.ask("fastcgi", giving_raw(wire)).body == b"before"


# ---- servers that end in the midst (P39, V3, F6)

def timed(ask):
    began = time.monotonic()
    response = ask()
    took = time.monotonic() - began
    assert took < SOON, f"{took} s"
    return response


BODY = b"0123456789"
SHORT_ANSWER = {
    "fastcgi": stdout(sized(BODY)[:-4], 3) + stdout(b"6789", 5) + end_request(padding=2),
    "kept": stdout(sized(BODY)[:-4], 3) + stdout(b"6789", 5) + end_request(padding=2),
    "scgi": sized(BODY),
    "uwsgi": b"HTTP/1.0 200 OK\r\n" + sized(BODY),
}


@every_way
@pytest.mark.parametrize("how", ["fin", "rst"])
def test_P39_V3_a_server_that_ends_at_any_byte_ends_the_request(front, protocol, how):
    whole = SHORT_ANSWER[protocol]

    def app(connection, request):
        connection.read_body(request)
        connection.send(whole[:int(request.query)])
        if how == "rst":
            connection.reset()
        else:
            connection.close()
        raise EOFError
    path = front.path(protocol, app)
    head_end = whole.index(b"\r\n\r\n") + 4
    body_end = whole.index(b"6789") + 4
    for cut in range(len(whole) + (how == "fin")):
        response = timed(lambda cut=cut: front.get(f"{path}?{cut}"))
        if cut < head_end:
            assert response.status == 502, cut
        elif cut < body_end:
            assert outcome(response) in (502, "cut"), cut
            assert BODY.startswith(response.body) or response.status == 502
        elif how == "fin":
            assert outcome(response) == 200 and response.body == BODY, cut  # F6: the length is satisfied
        else:
            assert outcome(response) in (502, "cut") or response.body == BODY, cut
    eventually(lambda: front.metrics().sum("pontage_backend_server_in_flight") == 0, "nothing in flight")


@every_way
def test_P39_a_reset_is_never_the_end_of_an_answer(front, protocol):
    def app(connection, request):
        connection.read_body(request)
        connection.send(stdout(text(BODY)) if protocol in ("fastcgi", "kept") else text(BODY))
        there.open()
        go.wait()
        connection.reset()
        raise EOFError
    with Gate() as there, Gate() as go, front.connect() as client:
        client.send(f"GET {front.path(protocol, app)} HTTP/1.1\r\nHost: a\r\n\r\n")
        there.wait()
        assert client.read_head().status == 200 and read_chunk(client) == BODY
        go.open()
        with pytest.raises((EOFError, ConnectionResetError)):
            read_chunk(client)


def test_F6_without_a_length_the_end_of_the_stream_between_records_is_an_end(front):
    """Old applications close instead of saying END_REQUEST. On a kept connection, or in a record, it is an error."""
    whole = stdout(text("01234")) + stdout(b"56789", 4)
    ends = {len(stdout(text("01234"))): b"01234", len(whole): BODY}
    for name in ("fastcgi", "kept"):
        path, wrong = front.path(name, cutting(whole)), []
        for cut in range(len(stdout(text(""))), len(whole) + 1):
            response = timed(lambda path=path, cut=cut: front.get(f"{path}?{cut}"))
            if cut in ends and name == "fastcgi":
                fine = response.body == ends[cut] and outcome(response) == 200
            else:
                fine = outcome(response) in (502, "cut")
            wrong += [] if fine else [(name, cut, response)]
        assert not wrong


BAD_RECORDS = {
    "version 0": record(STDOUT, text("x"), version=0),
    "version 2": record(STDOUT, text("x"), version=2),
    "id 0": record(STDOUT, text("x"), request_id=0),
    "id 2": record(STDOUT, text("x"), request_id=2),
    "id 257": record(STDOUT, text("x"), request_id=257),
    "a request": record(1, b"\0\1\0\0\0\0\0\0"),
    "parameters": record(PARAMS, b"\x01\x01AB"),
    "values unasked": record(GET_VALUES_RESULT, b"\x0f\x01FCGI_MPXS_CONNS0"),
    "values for id 0": record(GET_VALUES_RESULT, b"\x0f\x01FCGI_MPXS_CONNS0", request_id=0),
    "unknown type told": record(UNKNOWN_TYPE, b"\x63\0\0\0\0\0\0\0", request_id=0),
    "type 0": record(0, b"x"),
    "type 99": record(99, b"x"),
    "an end of 7 bytes": record(END, bytes(7)),
    "an end of 9 bytes": record(END, bytes(9)),
    "an end of 0 bytes": record(END),
    "an end of 65535 bytes": record(END, bytes(65535)),
    "an end with status 4": end_request(4),
    "an end with status 255": end_request(255),
    "an end of another request": record(END, bytes(8), request_id=2),
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno",
    "text": b"hello, world; this is no FastCGI server",
    "an end and nothing else (F7)": end_request(),
    "an empty answer": stdout(b"") + end_request(),
    "STDERR alone (F7)": stderr(b"Primary script unknown\n") + end_request(),
    "STDERR and an empty answer": stderr(b"oops") + stderr(b"") + stdout(b"") + end_request(),
    "a head cut by the end": stdout(b"Content-Type: text/plain\r\n") + end_request(),
    "a head cut by the end of its stream": stdout(b"Content-Type: text/plain\r\n") + stdout(b"") + end_request(),
    "unknown role (F6)": end_request(3),
    "cannot multiplex (F6)": end_request(1),
}


@pytest.mark.parametrize("kind", BAD_RECORDS)
@pytest.mark.parametrize("protocol", ["fastcgi", "kept"])
def test_V3_F7_X20_wrong_records_are_502_and_the_connection_is_given_up(front, protocol, kind):
    numbers = []

    def app(connection, request):
        connection.read_body(request)
        numbers.append(connection.number)
        connection.send(BAD_RECORDS[kind] if request.query == "bad" else fcgi_answer(text("good")))
        if request.query == "bad":
            connection.ended()
            raise EOFError
    path = front.path(protocol, app)
    with front.connect() as client:
        assert client.request("GET", path).body == b"good"
        assert timed(lambda: client.request("GET", f"{path}?bad")).status == 502, kind
        assert client.request("GET", path).body == b"good"
    assert numbers[2] > numbers[1] and numbers[2] > numbers[0]
    # X19: one wrong answer takes no server out.
    assert front.metrics().sum("pontage_backend_server_up", backend=protocol) == 1


LATE_RECORDS = {  # what comes behind a whole head and b"ok" of a body
    "wrong version": record(STDOUT, b"evil", version=3),
    "wrong id": record(STDOUT, b"evil", request_id=2),
    "unknown type": record(42, b"evil"),
    "a request": record(1, b"\0\1\0\0\0\0\0\0"),
    "an end of 9 bytes": record(END, bytes(9)),
    "an end with status 77": end_request(77),
    "overloaded": end_request(2),
    "output behind its end": stdout(b"") + stdout(b"evil") + end_request(),
    "an end cut short by another record": record(END, bytes(4), claimed=8) + stdout(b"evil"),
}


@pytest.mark.parametrize("kind", LATE_RECORDS)
@pytest.mark.parametrize("length", [False, True])
def test_V3_X20_records_that_go_wrong_late_cut_the_answer_and_poison_nobody(front, kind, length):
    head = text("ok", "Content-Length: 2\r\n" if length else "")

    def app(connection, request):
        connection.read_body(request)
        if request.query != "bad":
            return connection.send(fcgi_answer(text(request.query)))
        connection.send(stdout(head) + LATE_RECORDS[kind])
        connection.ended()
        raise EOFError
    path = front.path("kept", app)
    response = timed(lambda: front.get(f"{path}?bad"))
    assert b"evil" not in response.body
    allowed = (502, 503, "cut") if kind == "overloaded" else (502, "cut")
    assert outcome(response) in allowed or (length and response.body == b"ok"), kind
    for word in ("one", "two", "three"):
        assert front.get(f"{path}?{word}").body == word.encode()


@pytest.mark.parametrize("behind", [end_request(), fcgi_answer(text("evil")), stdout(b"evil"), b"\1", b"evil",
                                    stderr(b"late\n")],
                         ids=["end", "answer", "output", "byte", "text", "stderr"])
@pytest.mark.parametrize("apart", [False, True])
def test_X20_bytes_behind_the_end_reach_nobody_and_end_the_connection(front, behind, apart):
    numbers = []
    with Gate() as sent:
        def app(connection, request):
            connection.read_body(request)
            numbers.append(connection.number)
            if request.query != "bad":
                return connection.send(fcgi_answer(text(request.query)))
            whole = fcgi_answer(text("bad"))
            connection.send(whole if apart else whole + behind)
            if apart:
                connection.send(behind)
            sent.open()
            connection.ended()
            raise EOFError
        path = front.path("kept", app)
        response = front.get(f"{path}?bad")
        assert outcome(response) in (200, 502) and (response.status == 502 or response.body == b"bad")
        # Before they are there nobody can know of them.
        sent.wait()
        for word in ("one", "two", "three"):
            assert front.get(f"{path}?{word}").body == word.encode()
        assert numbers[0] not in numbers[1:]


def test_F6_the_empty_record_at_the_end_of_the_output_is_optional(front):
    for last in (True, False):
        path = front.path("kept", lambda c, r, last=last: (c.read_body(r), c.send(fcgi_answer(text("ok"), last=last))))
        with front.connect() as client:
            assert [client.request("GET", path).body for _ in range(3)] == [b"ok"] * 3


def test_F6_the_application_s_own_exit_status_changes_nothing(front):
    for app in (1, 255, 0xffffffff):
        assert front.ask("fastcgi", giving_raw(stdout(text("ok")) + end_request(app=app))).body == b"ok"


# ---- servers that are overloaded (F6, X12 to X14)

def overloaded(connection, request):
    connection.read_body(request)
    connection.send(end_request(2))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("options", [{}, {"method": "POST", "body": b"money"},
                                     {"method": "POST", "body": b"m" * 50, "chunked": True},
                                     {"method": "POST", "body": b"s" * 300_000, "chunked": True}],
                         ids=["GET", "POST", "chunked", "spooled"])
def test_F6_X14_an_overloaded_server_s_requests_go_to_the_next(start, keep, options):
    method, rest = options.get("method", "GET"), {k: v for k, v in options.items() if k != "method"}
    with FakeFastCgi(overloaded) as busy, FakeFastCgi(digest if rest else giving(text("served"))) as free:
        gateway = start({**proxy_to(busy.url, free.url, keep_alive=keep), "workers": 1})
        for _ in range(4):
            response = gateway.request(method, "/", **rest)
            assert response.status == 200, response
            assert response.body == (digest_of(rest["body"]) if rest else b"served")
        assert busy.seen > 0 and free.seen == 4


def test_F6_X16_overloaded_before_the_body_is_read_is_503_or_served_elsewhere(start):
    def refusing(connection, request):
        connection.send(end_request(2))
        gate.wait()
    with Gate() as gate, FakeFastCgi(refusing) as busy, FakeFastCgi(digest) as free:
        body = os.urandom(10_000_000)
        # Taken in whole, the body can be had again for the second server.
        gateway = start({**proxy_to(busy.url, free.url, request_buffering="on"), "workers": 1})
        for _ in range(2):
            assert gateway.request("POST", "/", body=body).body == digest_of(body)
        # Streamed, it cannot: the answer is an honest 503, and soon.
        alone = start({**proxy_to(busy.url), "workers": 1})
        assert timed(lambda: alone.request("POST", "/", body=body)).status == 503
        gate.open()


@pytest.mark.parametrize("keep", [False, True])
def test_F6_X17_a_lone_overloaded_server_is_503_with_retry_after(start, keep):
    with FakeFastCgi(overloaded) as server:
        gateway = start({**proxy_to(server.url, keep_alive=keep), "workers": 1})
        for _ in range(3):
            response = timed(lambda: gateway.get("/"))
            assert response.status == 503 and response.header("Retry-After")
        gateway.counts(1, "pontage_backend_server_up")
        assert server.seen <= 6


def test_F6_when_all_servers_are_overloaded_each_is_asked_once(start):
    with FakeFastCgi(overloaded) as first, FakeFastCgi(overloaded) as second:
        gateway = start({**proxy_to(first.url, second.url), "workers": 1})
        assert timed(lambda: gateway.request("POST", "/", body=b"x")).status == 503
        assert (first.seen, second.seen) == (1, 1)


def test_F6_X12_a_server_that_had_begun_to_answer_was_not_too_busy_to_begin(start):
    """What the script has done cannot be undone, whatever the server says behind it: no second server runs it again."""
    wire = stdout(b"Content-Type: te") + end_request(2)
    with FakeFastCgi(giving_raw(wire)) as first, FakeFastCgi(giving_raw(wire)) as second:
        gateway = start({**proxy_to(first.url, second.url), "workers": 1})
        assert gateway.request("POST", "/", body=b"money").status in (502, 503)
        assert first.seen + second.seen == 1


# ---- kept connections (F8, F9, X12, X20)

def test_F9_keep_alive_uses_one_connection_for_many_requests(front):
    seen = []

    def app(connection, request):
        connection.read_body(request)
        seen.append((connection.number, request.keep))
        connection.answer(text(request.body or b"none"))
    path = front.path("kept", app)
    with front.connect() as client:
        for body in (None, b"one", None, b"x" * 200_000, b"two"):
            method = "POST" if body else "GET"
            assert client.request(method, path, body=body).body == (body or b"none")
        assert client.request("HEAD", path).body == b""
        assert client.request("POST", path, body=b"chunks", chunked=True).body == b"chunks"
    assert seen == [(seen[0][0], True)] * 7


def test_F8_F9_without_keep_alive_the_connection_is_closed_soon_after_the_end(front):
    times = []

    def app(connection, request):
        assert not request.keep
        connection.read_body(request)
        connection.answer(text("ok"))
        began = time.monotonic()
        connection.ended()  # as PHP does: it reads until the gateway closes
        times.append(time.monotonic() - began)
    path, before = front.path("fastcgi", app), front.server("fastcgi").accepted
    with front.connect() as client:
        assert [client.request("GET", path).body for _ in range(3)] == [b"ok"] * 3
        eventually(lambda: len(times) == 3, "three connections to end")  # while the client stays
    assert max(times) < SOON and front.server("fastcgi").accepted == before + 3


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_F9_X12_a_connection_that_the_server_closes_while_idle_is_not_used_again(front, method, how):
    def app(connection, request):
        connection.read_body(request)
        connection.answer(text(str(connection.number)))
        if request.query == "last":
            if how == "rst":
                connection.reset()
            else:
                connection.close()
            raise EOFError
    path, body = front.path("kept", app), b"money" if method == "POST" else None
    for _ in range(5):
        first = front.request(method, f"{path}?last", body=body)
        assert first.status == 200
        # Its end is seen while it rests; until then the next request may race with it, which POST would lose.
        empty = lambda: front.metrics().sum("pontage_backend_connections", backend="kept") == 0
        eventually(empty, "the pool to be empty")
        second = front.request(method, path, body=body)
        assert second.status == 200 and second.body != first.body


def closing_as_the_next_comes(how):
    """Connection by connection, the first request is answered and the second read and left without an answer."""
    served, lost = set(), []

    def app(connection, request):
        connection.read_body(request)
        if connection.number not in served:
            served.add(connection.number)
            return connection.answer(text(str(connection.number)))
        lost.append(request)
        if how == "rst":
            connection.reset()
        else:
            connection.close()
        raise EOFError
    return app, lost


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("method, options, again", [
    ("GET", {}, True), ("PUT", {"body": b"put"}, True), ("DELETE", {}, True),
    ("PUT", {"body": b"s" * 200_000, "chunked": True}, True), ("POST", {"body": b"money"}, False), ("POST", {}, False),
    ("PATCH", {"body": b"money", "chunked": True}, False)])
def test_F9_X12_a_kept_connection_that_closes_as_the_request_comes(start, method, options, again, how):
    """Class (b): what is idempotent is tried once more on a fresh connection, POST and PATCH never."""
    app, lost = closing_as_the_next_comes(how)
    with FakeFastCgi(app) as server:
        gateway = start({**proxy_to(server.url, keep_alive=True), "workers": 1})
        first = gateway.get("/")
        assert first.status == 200
        second = gateway.request(method, "/", **options)
        assert len(lost) == 1
        assert second.status == (200 if again else 502)
        assert server.seen == (3 if again else 2)
        gateway.counts(1 if again else 0, "pontage_backend_retries_total", reason="reused_closed")
        gateway.counts(1, "pontage_backend_server_up")


def test_X12_with_the_route_s_word_post_is_tried_again_as_well(start):
    app, lost = closing_as_the_next_comes("fin")
    with FakeFastCgi(app) as server:
        config = proxy_to(server.url, keep_alive=True)
        config["routes"][0]["retry_non_idempotent"] = True
        gateway = start({**config, "workers": 1})
        gateway.get("/")
        assert gateway.request("POST", "/", body=b"money").status == 200
        assert [request.body for request in lost] == [b"money"]


@every_protocol
def test_X12_a_fresh_connection_that_closes_is_not_tried_again(front, protocol):
    def app(connection, request):
        connection.read_body(request)
        connection.close()
        raise EOFError
    path, before = front.path(protocol, app), front.server(protocol).seen
    assert timed(lambda: front.get(path)).status == 502
    assert front.server(protocol).seen == before + 1


def test_F8_kept_connections_are_no_more_than_the_limit(start):
    most, lock, now = [0], threading.Lock(), [0]

    def app(connection, request):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        connection.read_body(request)
        select.select([], [], [], 0.002)  # work
        with lock:
            now[0] -= 1
        connection.answer(text(request.query))
    with FakeFastCgi(app) as server:
        gateway = start(proxy_to(server.url, keep_alive=True, connections={"max": 2}, queue={"timeout": "20s"}))

        def work(i):
            with gateway.connect() as client:
                for j in range(5):
                    assert client.request("GET", f"/?{i}.{j}").body == f"{i}.{j}".encode()
        in_parallel(10, work)
        assert most[0] <= 2 and server.accepted - server.ended <= 2


def test_a_reload_reaches_kept_connections(start):
    with FakeFastCgi(lambda c, r: (c.read_body(r), c.answer(text(f"{c.number} {r.keep} {r.vars['STAGE']}")))) as server:
        config = lambda keep, stage: {**proxy_to(server.url, keep_alive=keep, params={"STAGE": stage}), "workers": 1}
        gateway = start(config(True, "one"))
        assert [gateway.get("/").body for _ in range(2)] == [b"1 True one"] * 2
        gateway.reload(config(True, "two"))
        assert gateway.get("/").body == b"1 True two"
        gateway.reload(config(False, "three"))
        assert gateway.get("/").body.endswith(b" False three")
        eventually(lambda: server.accepted == server.ended, "the connections to end", SOON)


def test_P14_a_server_that_recycles_its_workers_fails_no_request(start):
    """pm.max_requests: PHP answers so many requests on a connection, then closes it, with RST as it reads no more."""
    counts = {}

    def app(connection, request):
        connection.read_body(request)
        connection.answer(text(request.query))
        counts[connection.number] = counts.get(connection.number, 0) + 1
        if counts[connection.number] == 5:
            connection.reset()
            raise EOFError
    with FakeFastCgi(app) as server:
        gateway = start({**proxy_to(server.url, keep_alive=True, retry={"budget": "100%"}), "workers": 1})
        with gateway.connect() as client:
            for i in range(amount(300)):
                response = client.request("GET", f"/?{i}")
                assert response.status == 200 and response.body == str(i).encode()
        assert server.accepted >= amount(300) // 5


def test_V7_answers_and_requests_match_however_clients_leave(start):
    """Tokens on kept connections, while others begin requests and leave at all stages."""
    def app(connection, request):
        connection.read_body(request)
        connection.send(fcgi_answer(text(request.query + " ") + request.body, size=50))
    with FakeFastCgi(app) as server:
        gateway = start(proxy_to(server.url, keep_alive=True, connections={"max": 4}, queue={"timeout": "20s"}))

        def work(i):
            for j in range(amount(60)):
                token = f"{i}.{j}"
                if i % 2:
                    client = gateway.connect()
                    whole = upload_head(f"/?{token}", 70000) + bytes(70000)
                    client.send_what_fits(whole[:(len(whole) * (j % 7)) // 6])
                    client.reset() if j % 2 else client.close()
                    continue
                body = token.encode() * (1 + j % 3 * 20_000)
                response = gateway.request("POST", f"/?{token}", body=body)
                assert response.status == 200 and response.body == token.encode() + b" " + body
        in_parallel(6, work)
        for name in ("pontage_requests_in_flight", "pontage_backend_server_in_flight", "pontage_backend_queue_length"):
            eventually(lambda name=name: gateway.metrics().sum(name) == 0, name)


# ---- heads (C1 to C3, X7 to X9)

BAD_HEADS = {
    "nothing": b"",
    "a body alone": b"hello, world",
    "an empty head": b"\r\nbody",
    "an empty head with LF": b"\n\nbody",
    "no field that counts": b"X-A: 1\r\n\r\nbody",
    "a status with a colon": b"Status: 404: x\r\n\r\n",
    "a status of letters": b"Status: abc\r\nContent-Type: a/b\r\n\r\n",
    "a status with a letter": b"Status: 20x\r\n\r\n",
    "a status of two digits": b"Status: 20\r\n\r\n",
    "a status of four digits": b"Status: 2000 OK\r\n\r\n",
    "a status run into its reason": b"Status: 200OK\r\n\r\n",
    "an empty status": b"Status:\r\nContent-Type: a/b\r\n\r\n",
    "a negative status": b"Status: -200\r\n\r\n",
    "status 100": b"Status: 100 Continue\r\nContent-Type: a/b\r\n\r\n",
    "status 101": b"Status: 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "status 103": b"Status: 103 Early Hints\r\nLink: <x>\r\n\r\nStatus: 200\r\n\r\n",
    "status 099": b"Status: 099\r\n\r\n",
    "status 000": b"Status: 000\r\n\r\n",
    "two statuses": b"Status: 200 OK\r\nStatus: 404 Not Found\r\n\r\n",
    "CR in a value": b"Content-Type: a/b\r\nX-A: a\rX-B: evil\r\n\r\n",
    "CR at the end of a value": b"Content-Type: a/b\r\nX-A: a\r\r\n\r\n",
    "NUL in a value": b"Content-Type: a/b\r\nX-A: a\0evil\r\n\r\n",
    "NUL in a name": b"Content-Type: a/b\r\nX\0A: evil\r\n\r\n",
    "a name with a space": b"Content-Type: a/b\r\nX A: evil\r\n\r\n",
    "a space before the colon": b"Content-Type: a/b\r\nX-A : evil\r\n\r\n",
    "a space before the name": b" Content-Type: a/b\r\n\r\n",
    "a folded line": b"Content-Type: a/b\r\nX-A: a\r\n evil\r\n\r\n",
    "a folded line with a tab": b"Content-Type: a/b\r\nX-A: a\r\n\tevil\r\n\r\n",
    "a line without a colon": b"Content-Type: a/b\r\nevil\r\n\r\n",
    "no name": b"Content-Type: a/b\r\n: evil\r\n\r\n",
    "CR before the colon": b"Content-Type: a/b\r\nX-A\r: evil\r\n\r\n",
    "DEL in a name": b"Content-Type: a/b\r\nX\x7fA: evil\r\n\r\n",
    "a length that is none": b"Content-Type: a/b\r\nContent-Length: 5x\r\n\r\nabcde",
    "a negative length": b"Content-Type: a/b\r\nContent-Length: -5\r\n\r\nabcde",
    "a length with a sign": b"Content-Type: a/b\r\nContent-Length: +5\r\n\r\nabcde",
    "an empty length": b"Content-Type: a/b\r\nContent-Length:\r\n\r\nabcde",
    "a length too large": b"Content-Type: a/b\r\nContent-Length: 9223372036854775808\r\n\r\nabcde",
    "a length that wraps": b"Content-Type: a/b\r\nContent-Length: 18446744073709551621\r\n\r\nabcde",
    "two lengths": b"Content-Type: a/b\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "a list of lengths": b"Content-Type: a/b\r\nContent-Length: 5, 6\r\n\r\nabcdef",
    "a hexadecimal length": b"Content-Type: a/b\r\nContent-Length: 0x5\r\n\r\nabcde",
    "too many fields": b"Content-Type: a/b\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(5000)) + b"\r\n",
    "a head over its limit": b"Content-Type: a/b\r\n" + b"Set-Cookie: %b\r\n" % (b"c" * 4000) * 18 + b"\r\nbody",
    "a head without an end": b"Content-Type: a/b\r\n" + b"X-A: %b\r\n" % (b"y" * 4000) * 40,
    "a field without an end": b"Content-Type: a/b\r\nX-A: " + b"y" * 200_000,
    "a body of one long line": b"y" * 1_000_000,
    "a head cut short": b"Content-Type: a/b\r\nX-A: 1\r\n",
    "a head cut in its last line end": b"Content-Type: a/b\r\nX-A: 1\r\n\r",
    "a status line of letters": b"HTTP/1.1 4x4 Not Found\r\nContent-Type: a/b\r\n\r\n",
    "a status line with two spaces": b"HTTP/1.1  404 Not Found\r\nContent-Type: a/b\r\n\r\n",
    "a status line without a version": b"HTTP 200 OK\r\nContent-Type: a/b\r\n\r\n",
    "a status line of HTTP/2": b"HTTP/2 200 OK\r\nContent-Type: a/b\r\n\r\n",
    "an interim status line": b"HTTP/1.1 100 Continue\r\nContent-Type: a/b\r\n\r\n",
    "an interim answer first": b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n",
    "a status line with a CR": b"HTTP/1.1 200 OK\rX-B: evil\r\nContent-Type: a/b\r\n\r\n",
    "a status line in the midst": b"Content-Type: a/b\r\nHTTP/1.1 200 OK\r\n\r\n",
    "two status lines": b"HTTP/1.1 200 OK\r\nHTTP/1.1 404 Not Found\r\nContent-Type: a/b\r\n\r\n",
}


@pytest.mark.parametrize("kind", BAD_HEADS)
@every_way
def test_C1_X7_X8_X9_F18_wrong_heads_are_502_and_harm_nobody(front, protocol, kind):
    head, numbers = BAD_HEADS[kind], []

    def app(connection, request):
        connection.read_body(request)
        numbers.append(connection.number)
        connection.answer(head if request.query else text("good"))
    path = front.path(protocol, app)
    with front.connect() as client:
        response = timed(lambda: client.request("GET", f"{path}?bad"))
        assert response.status == 502 and b"evil" not in str(response.headers).encode() + response.body, kind
        for _ in range(2):
            assert client.request("GET", path).body == b"good"
    assert numbers[0] not in numbers[1:]


GOOD_HEADS = {  # the answer: (status, fields that come, body)
    "a type": (b"Content-Type: a/b\r\n\r\nbody", 200, {"Content-Type": "a/b"}, b"body"),
    "a type, with LF": (b"Content-Type: a/b\n\nbody", 200, {"Content-Type": "a/b"}, b"body"),
    "mixed line ends": (b"Content-Type: a/b\nX-A: 1\r\nX-B: 2\n\r\nbody", 200, {"X-A": "1", "X-B": "2"}, b"body"),
    "a CRLF head that ends with LF": (b"Content-Type: a/b\r\nX-A: 1\r\n\nbody", 200, {"X-A": "1"}, b"body"),
    "a body that begins with a line end": (b"Content-Type: a/b\n\n\r\nbody", 200, {}, b"\r\nbody"),
    "a status": (b"Status: 404 Not Found\r\nContent-Type: a/b\r\n\r\nno", 404, {"Status": None}, b"no"),
    "a status alone": (b"Status: 404 Not Found\r\n\r\nno", 404, {"Status": None}, b"no"),
    "a status without a reason": (b"Status: 418\r\n\r\nno", 418, {"Status": None}, b"no"),
    "a status with an empty reason": (b"Status: 418 \r\n\r\nno", 418, {"Status": None}, b"no"),
    "a reason with a colon": (b"Status: 404 Not: Found\r\n\r\nno", 404, {}, b"no"),
    "a status that comes last": (b"Content-Type: a/b\r\nX-A: 1\r\nstatus: 500 Oops\r\n\r\nno", 500, {"X-A": "1"},
                                 b"no"),
    "a location (C2)": (b"Location: http://a.example/x\r\n\r\n", 302, {"Location": "http://a.example/x"}, b""),
    "a location and a type (C2)": (b"Content-Type: a/b\r\nLocation: http://a.example/\r\n\r\ngo", 302, {}, b"go"),
    "a local location (C2)": (b"Location: /x?y\r\n\r\n", 302, {"Location": "/x?y"}, b""),
    "a location and 201 (C2)": (b"Status: 201 Created\r\nLocation: /new\r\n\r\n", 201, {"Location": "/new"}, b""),
    "a location and 200 (C2)": (b"Location: /new\r\nStatus: 200 OK\r\n\r\nx", 200, {"Location": "/new"}, b"x"),
    "a location and 307 (C2)": (b"Status: 307\r\nLocation: /new\r\n\r\n", 307, {"Location": "/new"}, b""),
    "no space behind the colon": (b"Content-Type:a/b\r\nX-A:1\r\n\r\n", 200, {"Content-Type": "a/b", "X-A": "1"}, b""),
    "an empty value": (b"Content-Type: a/b\r\nX-A:\r\n\r\n", 200, {"X-A": ""}, b""),
    "hop-by-hop fields (X9)": (b"Content-Type: a/b\r\nConnection: close\r\nKeep-Alive: 5\r\nUpgrade: x\r\n\r\nb", 200,
                               {"Keep-Alive": None, "Upgrade": None}, b"b"),
    "a coding that is not one (X9)": (b"Content-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                                      200, {}, b"5\r\nhello\r\n0\r\n\r\n"),
    "a coding and a length (X9)": (b"Content-Type: a/b\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
                                   200, {"Transfer-Encoding": None, "Content-Length": "3"}, b"abc"),
    "files to send (C9)": (b"Content-Type: a/b\r\nX-Sendfile: /etc/x\r\nX-Accel-Redirect: x\r\nx-sendfile: y\r\n\r\n",
                           200, {"X-Sendfile": None, "X-Accel-Redirect": None}, b""),
    "a length (X11)": (b"Content-Type: a/b\r\nContent-Length: 4\r\n\r\nbody", 200, {"Content-Length": "4"}, b"body"),
    "a length of 0": (b"Content-Type: a/b\r\nContent-Length: 0\r\n\r\n", 200, {"Content-Length": "0"}, b""),
    "no body (P20)": (b"Content-Type: a/b\r\n\r\n", 200, {}, b""),
    "several cookies": (b"Content-Type: a/b\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n", 200,
                        {"Set-Cookie": "a=1"}, b""),
    "bytes beyond ASCII": (b"Content-Type: a/b\r\nX-A: caf\xe9\r\n\r\n", 200, {"X-A": "caf\xe9"}, b""),
    "60 KiB of cookies (P18)": (b"Status: 200\r\n" + b"Set-Cookie: %b\r\n" % (b"c" * 4000) * 15 + b"\r\nbody", 200, {},
                                b"body"),
    "a status line (C3)": (b"HTTP/1.1 404 Not Found\r\nContent-Type: a/b\r\n\r\nno", 404, {}, b"no"),
    "a status line of 1.0 (C3)": (b"HTTP/1.0 200 OK\r\n\r\nbody", 200, {}, b"body"),
    "a status line with LF (C3)": (b"HTTP/1.1 200 OK\nX-A: 1\n\nbody", 200, {"X-A": "1"}, b"body"),
    "a status line and a coding (U2)": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok",
                                        200, {"Transfer-Encoding": None}, b"ok"),
    "a status line and a location": (b"HTTP/1.1 200 OK\r\nLocation: /x\r\n\r\nok", 200, {"Location": "/x"}, b"ok"),
    "the server's own 503 (X13)": (b"Status: 503 Busy\r\nRetry-After: 7\r\n\r\nwait", 503, {"Retry-After": "7"},
                                   b"wait"),
}


@pytest.mark.parametrize("protocol, kind", [(protocol, kind) for protocol in ALL for kind in GOOD_HEADS
                                            if protocol in ("scgi", "uwsgi") or "status line" not in kind])
def test_C1_C2_C3_C9_X9_good_heads_are_understood(front, protocol, kind):
    answer, status, fields, body = GOOD_HEADS[kind]
    path = front.path(protocol, giving(answer))
    with front.connect() as client:
        for _ in range(2):  # the client's connection goes on, whatever the server said about its own
            response = timed(lambda: client.request("GET", path))
            assert (response.status, response.body, response.truncated) == (status, body, False)
            assert {name: response.header(name) for name in fields} == fields
            assert not response.all("X-Sendfile") and not response.all("Status")
            assert kind != "several cookies" or response.all("Set-Cookie") == ["a=1", "b=2"]
        assert client.silent(0.01)


@pytest.mark.parametrize("protocol", ["scgi", "uwsgi"])
def test_X2_fields_that_an_http_answer_s_connection_names_stay_here(front, protocol):
    """An answer with a status line is HTTP (C3), and RFC 9110 7.6.1 is about it, as with an http server."""
    answer = b"HTTP/1.1 200 OK\r\nConnection: close, X-Named\r\nX-Named: hop\r\nContent-Type: a/b\r\n\r\nbody"
    response = front.ask(protocol, giving(answer))
    assert response.body == b"body" and response.header("X-Named") is None


def test_F18_the_log_names_the_limit_that_an_answer_exceeded(start):
    with FakeFastCgi(giving(BAD_HEADS["a head over its limit"])) as server:
        gateway = start({**proxy_to(server.url), "workers": 1})
        assert gateway.get("/").status == 502
        eventually(lambda: "CGI response refused" in gateway.output(), "the log to say why")


# ---- lengths, and answers without a body (X10, X11, P35)

@every_way
def test_X10_more_than_the_length_is_cut_off_and_the_connection_given_up(front, protocol):
    numbers, token = [], os.urandom(8).hex()

    def app(connection, request):
        connection.read_body(request)
        numbers.append(connection.number)
        long = b"Content-Type: a/b\r\nContent-Length: 5\r\n\r\nabcde" + b"evil" * int(request.query or 0)
        connection.answer(long if request.query else sized(token.encode()))
    path = front.path(protocol, app)
    with front.connect() as client:
        for extra in (1, 10_000, 200_000):
            response = timed(lambda extra=extra: client.request("GET", f"{path}?{extra}"))
            assert response.body == b"abcde" and response.header("Content-Length") == "5"
            assert client.request("GET", path).body == token.encode()
    assert numbers[0] != numbers[1] and numbers[2] != numbers[3]


@every_way
@pytest.mark.parametrize("have", [0, 1, 40_000, 99_999])
def test_X10_less_than_the_length_is_a_broken_transfer(front, protocol, have):
    numbers, body = [], os.urandom(100_000)

    def app(connection, request):
        connection.read_body(request)
        numbers.append(connection.number)
        if request.query:
            return connection.answer(text("good"))
        connection.answer(b"Content-Type: a/b\r\nContent-Length: 100000\r\n\r\n" + body[:have])
    path = front.path(protocol, app)
    response = timed(lambda: front.get(path))
    assert outcome(response) in (502, "cut")
    assert response.status == 502 or response.body == body[:len(response.body)]
    assert front.get(f"{path}?good").body == b"good"
    assert numbers[0] != numbers[1]


@every_way
def test_X10_X11_head_has_no_body_and_keeps_the_length(front, protocol):
    answers = {"none": text(b"", "Content-Length: 1234\r\n"), "body": sized(b"x" * 5000), "long": text(b"x" * 300_000),
               "bare": text(b"")}

    def app(connection, request):
        connection.read_body(request)
        connection.answer(text("next") if request.vars["REQUEST_METHOD"] == "GET" else answers[request.query])
    path = front.path(protocol, app)
    with front.connect() as client:
        for kind, length in (("none", "1234"), ("body", "5000"), ("long", None), ("bare", None)):
            response = timed(lambda kind=kind: client.request("HEAD", f"{path}?{kind}"))
            assert response.status == 200 and response.header("Content-Length") == length, kind
            assert client.silent(0.02)
            assert client.request("GET", path).body == b"next"


@every_way
@pytest.mark.parametrize("status", [204, 304])
def test_X10_X11_P35_204_and_304_have_no_body_whatever_the_server_sends(front, protocol, status):
    numbers = []

    def app(connection, request):
        connection.read_body(request)
        numbers.append(connection.number)
        head = f"Status: {status}\r\nETag: \"e\"\r\n".encode()
        connection.answer({"": text("next"), "plain": head + b"\r\n", "body": head + b"\r\nevil",
                           "length": head + b"Content-Length: 4\r\n\r\nevil",
                           "large": head + b"Content-Type: a/b\r\n\r\n" + b"evil" * 50_000}[request.query])
    path = front.path(protocol, app)
    with front.connect() as client:
        for kind in ("plain", "body", "length", "large"):
            response = timed(lambda kind=kind: client.request("GET", f"{path}?{kind}"))
            assert response.status == status and response.header("ETag") == '"e"', kind
            assert status == 304 or not response.all("Content-Length")
            assert client.silent(0.02), kind
            assert client.request("GET", path).body == b"next"
    # P35: the bytes are read up to the end of the answer, so that the connection goes on.
    assert protocol != "kept" or len(set(numbers)) == 1


@every_way
@pytest.mark.parametrize("method, status", [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_P39_X11_an_endless_body_that_nobody_gets_holds_no_client(front, protocol, method, status):
    """A script that streams on behind an answer without a body: to read up to its end is well meant, but has an end."""
    wrap = stdout if protocol in ("fastcgi", "kept") else bytes
    with Gate() as gate:
        def app(connection, request):
            connection.read_body(request)
            connection.send(wrap(f"Status: {status}\r\nContent-Type: a/b\r\n\r\n".encode()))
            while not gate.event.is_set():
                connection.send(wrap(b"tick\n"))
                select.select([], [], [], 0.01)
            raise EOFError
        with front.connect() as client:
            assert timed(lambda: client.request(method, front.path(protocol, app))).status == status
            client.send(f"GET {front.path(protocol, giving(text('next')))} HTTP/1.1\r\nHost: a\r\n\r\n")
            assert not client.silent(SOON), "the next request of the connection waits"
            assert client.read_response().body == b"next"


# ---- streaming (X22)

@every_way
def test_X22_an_event_arrives_before_the_next_is_sent(front, protocol):
    with Gate() as head, Gate() as first, Gate() as second:
        def app(connection, request):
            connection.read_body(request)
            wrap = stdout if protocol in ("fastcgi", "kept") else bytes
            connection.send(wrap(b"Content-Type: text/event-stream\r\n\r\n"))
            head.wait()
            connection.send(wrap(b"data: 1\n\n"))
            first.wait()
            connection.send(wrap(b"data: 2\n\n"))
            second.wait()
            if wrap is stdout:
                connection.send(end_request())
        with front.connect() as client:
            client.send(f"GET {front.path(protocol, app)} HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.read_head().header("Content-Type") == "text/event-stream"
            head.open()
            assert read_chunk(client) == b"data: 1\n\n"
            first.open()
            assert read_chunk(client) == b"data: 2\n\n"
            second.open()
            assert read_chunk(client) == b""


def test_X22_a_part_of_a_record_is_passed_on_before_the_rest_comes(front):
    whole = stdout(text(b"begin, end"), 9)
    at = whole.index(b", end")
    with Gate() as gate:
        def app(connection, request):
            connection.read_body(request)
            connection.send(whole[:at])
            gate.wait()
            connection.send(whole[at:] + end_request())
        with front.connect() as client:
            client.send(f"GET {front.path('kept', app)} HTTP/1.1\r\nHost: a\r\n\r\n")
            client.read_head()
            assert read_chunk(client) == b"begin"
            gate.open()
            assert [read_chunk(client), read_chunk(client)] == [b", end", b""]


@every_protocol
def test_X16_an_answer_flows_while_the_body_is_still_coming(front, protocol):
    with Gate() as gate:
        def app(connection, request):
            wrap = stdout if protocol == "fastcgi" else bytes
            connection.send(wrap(text("early ")))
            gate.wait()
            connection.read_body(request)
            connection.send(wrap(request.body[-4:]) + (end_request() if wrap is stdout else b""))
        with front.connect() as client:
            path = front.path(f"{protocol}-raw", app)
            client.send(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + "x" * 50)
            assert client.read_head().status == 200
            assert read_chunk(client) == b"early "
            client.send(b"x" * 46 + b"last")
            gate.open()
            assert [read_chunk(client), read_chunk(client)] == [b"last", b""]


# ---- answers before the body is read (X16)

@pytest.mark.parametrize("buffering", ["", "-raw", "-whole"])
@every_protocol
def test_X16_an_early_413_comes_through_a_large_upload(front, protocol, buffering):
    body = bytes(10_000_000)
    for _ in range(2):
        with Gate() as gate:
            def app(connection, _, gate=gate):
                connection.answer(sized(b"too large", "Status: 413 Content Too Large\r\n"))
                gate.wait()  # with the body unread
            response = timed(lambda app=app: front.ask(protocol + buffering, app, "POST", body=body))
            assert response.status == 413 and response.body == b"too large"
    assert front.ask(protocol, giving(text("next"))).body == b"next"
    eventually(lambda: front.metrics().sum("pontage_backend_server_in_flight") == 0, "nothing in flight")


def test_X16_X20_a_kept_connection_with_an_unread_body_is_not_used_again(front):
    numbers = []
    with Gate() as gate:
        def early(connection, request):
            numbers.append(connection.number)
            connection.answer(sized(b"early"))
            gate.wait()
            raise EOFError
        response = timed(lambda: front.ask("kept", early, "POST", body=bytes(5_000_000)))
        assert response.body == b"early"

        def good(connection, request):
            connection.read_body(request)
            numbers.append(connection.number)
            connection.answer(text("good"))
        assert front.ask("kept", good).body == b"good"
    assert numbers[0] != numbers[1]


@every_protocol
def test_X16_a_server_that_closes_without_reading_the_body_is_502(front, protocol):
    def app(connection, _):
        connection.close()
        raise EOFError
    for buffering in ("", "-raw", "-whole"):
        response = timed(lambda b=buffering: front.ask(protocol + b, app, "POST", body=bytes(2_000_000)))
        assert response.status == 502, buffering


# ---- clients that leave (X18, F14)

@every_way
@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("stage", ["silent", "in the head", "in the body"])
def test_X18_F14_the_server_learns_that_the_client_left(front, protocol, how, stage):
    times, wire = [], b"" if stage == "silent" else text("some of it")
    wire = wire[:9] if stage == "in the head" else wire
    with Gate() as there:
        def app(connection, request):
            connection.read_body(request)
            connection.send(stdout(wire) if wire and protocol in ("fastcgi", "kept") else wire)
            there.open()
            began = time.monotonic()
            connection.ended()
            times.append(time.monotonic() - began)
            raise EOFError
        client = front.connect()
        client.send(f"GET {front.path(protocol, app)} HTTP/1.1\r\nHost: a\r\n\r\n")
        there.wait()
        if stage == "in the body":
            client.read_head()
        getattr(client, how)()
        eventually(lambda: times, "the server to learn of it", SOON)
    assert times[0] < SOON
    assert front.ask(protocol, giving(text("next"))).body == b"next"
    for name in ("pontage_requests_in_flight", "pontage_backend_server_in_flight"):
        eventually(lambda name=name: front.metrics().sum(name) == 0, name)


def test_F14_an_answer_that_nobody_wants_is_aborted_before_the_close(front):
    aborts = []
    with Gate() as there:
        def app(connection, request):
            connection.read_body(request)
            connection.send(stdout(text("some of it")))
            there.open()
            kind, content, raw = connection.read_record()
            aborts.append((kind, content, raw))
            connection.ended()
            raise EOFError
        client = front.connect()
        client.send(f"GET {front.path('fastcgi', app)} HTTP/1.1\r\nHost: a\r\n\r\n")
        there.wait()
        client.read_head()
        client.close()
        eventually(lambda: aborts, "FCGI_ABORT_REQUEST", SOON)
    assert aborts == [(2, b"", b"\1\2\0\1\0\0\0\0")]


@every_protocol
@pytest.mark.parametrize("how", ["close", "reset"])
def test_X18_F13_an_upload_that_its_client_leaves_is_never_completed(front, protocol, how):
    seen = []
    with Gate() as there:
        def app(connection, request):
            there.open()
            try:
                connection.read_body(request)
                seen.append("whole")
            except Aborted:
                seen.append("aborted")
            except (EOFError, ConnectionResetError):
                seen.append("cut")
            raise EOFError
        client = front.connect()
        client.send(f"POST {front.path(protocol, app)} HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
        client.send(bytes(300_000))  # fast, and more than is kept in memory: it is passed on as it comes
        there.wait()
        getattr(client, how)()
        eventually(lambda: seen, "the server to learn of it", SOON)
    assert seen[0] in ("cut", "aborted")
    assert front.ask(protocol, giving(text("next"))).body == b"next"


@every_protocol
def test_V10_chunked_uploads_cut_at_every_byte_reach_no_server_and_leave_nothing(front, protocol):
    path, before = front.path(protocol, giving(text("never"))), front.server(protocol).seen
    whole = f"POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    body = b"5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n"
    for cut in range(len(body)):
        client = front.connect()
        client.send(whole + body[:cut])
        client.reset() if cut % 2 else client.close()
    for name in ("pontage_requests_in_flight", "pontage_backend_server_in_flight", "pontage_backend_queue_length"):
        eventually(lambda name=name: front.metrics().sum(name) == 0, name)
    assert front.server(protocol).seen == before


# ---- time (X17)

@every_protocol
def test_X17_silence_before_the_first_byte_is_504(front, protocol):
    app = lambda c, r: (c.read_body(r), c.ended())
    for options in ({}, {"method": "POST", "body": b"x"}, {"method": "POST", "body": b"x" * 200_000}):
        assert front.ask(f"{protocol}-hasty", app, **options).status == 504
    assert front.ask(f"{protocol}-hasty", giving(text("next"))).body == b"next"


@every_protocol
def test_X17_silence_in_the_head_is_504_and_in_the_body_a_broken_transfer(front, protocol):
    wrap = stdout if protocol == "fastcgi" else bytes
    for wire, due in ((b"Content-Ty", (504,)), (text("half"), ("cut",)), (sized(b"half")[:-1], ("cut",))):
        app = lambda c, r, wire=wire: (c.read_body(r), c.send(wrap(wire)), c.ended())
        assert outcome(front.ask(f"{protocol}-hasty", app)) in due


def test_X17_stderr_alone_puts_the_first_byte_off_no_further(front):
    """A script that warns for ever and never answers."""
    def app(connection, request):
        connection.read_body(request)
        while not select.select([connection.socket], [], [], 0.02)[0]:
            connection.send(stderr(b"still there\n"))
    began = time.monotonic()
    assert front.ask("fastcgi-hasty", app).status == 504
    assert time.monotonic() - began < 10 * SCALE


@every_protocol
def test_X17_a_server_that_takes_no_body_is_504(front, protocol):
    with Gate() as gate:
        response = front.ask(f"{protocol}-hasty", lambda c, r: gate.wait(), "POST", body=bytes(20_000_000))
        assert response.status == 504


# ---- bodies are taken in before a server is (F12, F13, P15, P16)

@every_protocol
@pytest.mark.parametrize("chunked", [False, True])
def test_F13_P16_trickled_uploads_hold_no_server_until_they_are_whole(front, protocol, chunked):
    server, path = front.server(protocol), front.path(protocol, digest)
    clients = [front.connect() for _ in range(50)]
    try:
        before = server.accepted
        pieces = [os.urandom(20) for _ in range(5)]
        for client in clients:
            client.send(upload_head(path, None if chunked else 100))
        for piece in pieces[:-1]:
            for client in clients:
                client.send(b"14\r\n" + piece + b"\r\n" if chunked else piece)
            front.metrics()  # the gateway had its turn
        assert server.accepted == before
        assert front.ask(protocol, giving(text("free"))).body == b"free"
        for client in clients:
            client.send(b"14\r\n" + pieces[-1] + b"\r\n0\r\n\r\n" if chunked else pieces[-1])
        for client in clients:
            assert client.read_response().body == digest_of(b"".join(pieces))
        assert server.accepted == before + 51
    finally:
        for client in clients:
            client.close()


@every_protocol
def test_F13_a_slow_upload_larger_than_memory_holds_no_server_until_it_is_whole(front, protocol):
    server, path, body = front.server(protocol), front.path(protocol, digest), os.urandom(200_000)
    before = server.accepted
    with front.connect() as client:
        client.send(upload_head(path, len(body)) + body[:1000])
        assert client.silent(0.5)  # slow: longer than the quarter of a second that is fast
        client.send(body[1000:-1])
        eventually(lambda: front.metrics().sum("pontage_requests_in_flight") >= 1)
        assert client.silent(0.1) and server.accepted == before
        client.send(body[-1:])
        assert client.read_response().body == digest_of(body)
    assert server.accepted == before + 1


@every_protocol
def test_F13_fast_uploads_begin_at_the_server_before_they_are_whole(front, protocol):
    body = os.urandom(900_000)
    with Gate() as begun:
        def app(connection, request):
            begun.open()
            digest(connection, request)
        with front.connect() as client:
            client.send(upload_head(front.path(protocol, app), len(body)) + body[:800_000])
            begun.wait()
            client.send(body[800_000:])
            assert client.read_response().body == digest_of(body)


@every_protocol
def test_F13_with_buffering_on_even_fast_uploads_wait_until_they_are_whole(front, protocol):
    server, body = front.server(protocol), os.urandom(900_000)
    before = server.accepted
    with front.connect() as client:
        client.send(upload_head(front.path(f"{protocol}-whole", digest), len(body)) + body[:-1])
        assert client.silent(0.2) and server.accepted == before
        client.send(body[-1:])
        assert client.read_response().body == digest_of(body)


@every_protocol
def test_F13_with_buffering_off_a_body_begins_at_the_server_at_once(front, protocol):
    with Gate() as begun:
        def app(connection, request):
            begun.open()
            digest(connection, request)
        with front.connect() as client:
            client.send(upload_head(front.path(f"{protocol}-raw", app), 10) + b"01234")
            begun.wait()
            client.send(b"56789")
            assert client.read_response().body == digest_of(BODY)


def test_request_buffering_of_a_route_goes_before_its_backend_s(start):
    with FakeScgi(digest) as server:
        config = proxy_to(server.url, request_buffering="off")
        config["routes"] = [{"path": "/on/*", "proxy": "app", "request_buffering": "on"}, {"proxy": "app"}]
        gateway = start({**config, "workers": 1})
        assert gateway.request("POST", "/", body=b"x", chunked=True).status == 411
        assert gateway.request("POST", "/on/", body=b"x", chunked=True).body == digest_of(b"x")


@every_protocol
def test_F12_a_body_over_its_limit_is_413_and_reaches_no_server(start, protocol):
    with SERVERS[protocol](digest) as server:
        config = proxy_to(server.url)
        config["routes"][0]["limits"] = {"body": "100KiB"}
        gateway = start({**config, "workers": 1})
        for size in (102_401, 300_000, 3_000_000):
            assert gateway.request("POST", "/", body=bytes(size), chunked=True).status == 413
            assert gateway.request("POST", "/", body=bytes(size)).status == 413
        assert server.accepted == 0
        for size in (102_399, 102_400):
            assert gateway.request("POST", "/", body=bytes(size), chunked=True).body == digest_of(bytes(size))
        with gateway.connect() as client:  # trickled over the limit
            client.send(upload_head("/") + b"19000\r\n" + bytes(102_400) + b"\r\n")
            assert client.silent(0.05)
            client.send(b"1\r\nx\r\n")
            assert client.read_response().status == 413


@every_protocol
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("buffering", ["", "-whole", "-raw"])
def test_X6_expect_100_continue_gets_its_100_and_no_variable(front, protocol, chunked, buffering):
    names = []

    def app(connection, request):
        names.append("HTTP_EXPECT" in request.vars)
        digest(connection, request)
    body = os.urandom(5000)
    with front.connect() as client:
        path = front.path(protocol + buffering, app)
        client.send(upload_head(path, None if chunked else len(body), "Expect: 100-continue\r\n"))
        head = client.read_head()
        if chunked and buffering == "-raw":
            assert head.status == 411  # at once: no body is asked for that nobody wants
            return
        assert head.status == 100
        client.send(b"1388\r\n" + body + b"\r\n0\r\n\r\n" if chunked else body)
        response = client.read_response()
        assert response.status == 200 and response.body == digest_of(body)
    assert names == [False]


@every_protocol
def test_X6_no_100_before_413(start, protocol):
    with SERVERS[protocol](digest) as server:
        gateway = start({**proxy_to(server.url), "limits": {"body": "1KiB"}, "workers": 1})
        with gateway.connect() as client:
            client.send(upload_head("/", 2000, "Expect: 100-continue\r\n"))
            assert client.read_head().status == 413
        assert server.accepted == 0


@every_protocol
def test_P15_a_large_chunked_upload_arrives_bit_exact_through_a_file(start, tmp_path, protocol):
    folder = tmp_path / "spool"
    folder.mkdir()
    with SERVERS[protocol](digest) as server:
        gateway = start({**proxy_to(server.url), "spool": {"folder": str(folder)}, "workers": 1})
        files = gateway.file_descriptors()
        for size in (65_535, 65_536, 65_537, 131_072, 131_073, 3_000_000):
            body = os.urandom(size)
            assert gateway.request("POST", "/", body=body, chunked=True).body == digest_of(body), size
        bodies = [os.urandom(3_000_000) for _ in range(4)]
        answers = in_parallel(4, lambda i: gateway.request("POST", "/", body=bodies[i], chunked=True).body)
        assert answers == [digest_of(body) for body in bodies]
        assert not list(folder.iterdir())
        eventually(lambda: gateway.file_descriptors() <= files, "the files to be closed")


@every_protocol
def test_a_spool_folder_that_is_not_there_fails_large_bodies_alone(start, tmp_path, protocol):
    with SERVERS[protocol](digest) as server:
        gateway = start({**proxy_to(server.url), "spool": {"folder": str(tmp_path / "none")}, "workers": 1})
        small = os.urandom(60_000)
        for _ in range(3):
            response = timed(lambda: gateway.request("POST", "/", body=bytes(300_000), chunked=True))
            assert response.status in (500, 502, 503)
            assert gateway.request("POST", "/", body=small, chunked=True).body == digest_of(small)
        assert server.seen == 3
        gateway.counts(1, "pontage_backend_server_up")
        gateway.counts(0, "pontage_requests_in_flight")


def test_spooled_bodies_of_clients_that_leave_leave_no_file(start, tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    with FakeFastCgi(digest) as server:
        gateway = start({**proxy_to(server.url), "spool": {"folder": str(folder)}, "workers": 1})
        files = gateway.file_descriptors()
        for i in range(amount(20)):
            client = gateway.connect()
            client.send_what_fits(upload_head("/") + b"f4240\r\n" + bytes(1_000_000 if i % 2 else 300_000))
            client.reset() if i % 3 else client.close()
        eventually(lambda: gateway.metrics().sum("pontage_requests_in_flight") == 0, "the requests to end")
        eventually(lambda: gateway.file_descriptors() <= files, "the files to be closed")
        assert server.seen == 0 and not list(folder.iterdir())


def test_after_all_that_nothing_is_left_in_flight(front):
    for name in ("pontage_requests_in_flight", "pontage_backend_server_in_flight", "pontage_backend_queue_length"):
        eventually(lambda name=name: front.metrics().sum(name) == 0, name)
    for protocol in PROTOCOLS:
        server = front.server(protocol)
        eventually(lambda server=server: server.accepted == server.ended, f"the connections to {server.url} to end")
