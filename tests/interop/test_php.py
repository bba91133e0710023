"""PHP-FPM behind the gateway, over FastCGI. Ids are those of ADAPTERS."""
import base64
import hashlib
import random
import select
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from conftest import BIG, Fpm
from harness import PATIENCE, Gateway, amount, eventually, in_parallel, proxy_to

SIZES = [0, 1, 8184, 65528, 65529, 131070, 1 << 20, 20 << 20]
CHILDREN = 4
KEEP = [False, True]
AT_ONCE = 1.0  # seconds; nothing that works takes as long


def backend(fpm, root, keep=False, connections=CHILDREN, **more):
    """To this FPM; each connection that is kept holds a child, so there are not more of them (F8)."""
    return proxy_to(fpm.url(), document_root=str(root), keep_alive=keep, connections={"max": connections}, **more)


@pytest.fixture(scope="module", params=["unix", "unix kept", "tcp", "tcp kept"])
def front(request, php_root, tmp_path_factory):
    """A gateway before an FPM of its own, over both transports, with connections that are used once or kept."""
    place, _, kept = request.param.partition(" ")
    folder = tmp_path_factory.mktemp("front")
    fpm = Fpm(folder / "fpm", CHILDREN, tcp=place == "tcp").begin()
    try:
        gateway = Gateway(folder, backend(fpm, php_root, bool(kept), params={"APP_ENV": "test"}))
        gateway.fpm = fpm
        yield gateway
        gateway.stop()
    finally:
        fpm.stop()


def variables(response):
    """What PHP says of its request: {name: value}."""
    assert response.status == 200, (response, response.body[:300])
    return {n: bytes.fromhex(v).decode(errors="surrogateescape") for n, v in response.json().items()}


def script_and_info(response):
    told = variables(response)
    return told["SCRIPT_NAME"], told.get("PATH_INFO")


def arrived(response, body):
    """Asserts that PHP had exactly this body, and the length of it beforehand."""
    assert response.status == 200, (response, response.body[:300])
    told = response.json()
    assert told["bytes"] == len(body) and told["sha256"] == hashlib.sha256(body).hexdigest(), (told, len(body))
    assert int(told["length"] or 0) == len(body), told


def is_delimited(response):
    """Whether the client knows where the body ends before the connection does."""
    return response.header("Content-Length") is not None or response.header("Transfer-Encoding") == "chunked"


def read_piece(client):
    """One chunk of a body whose head has been read."""
    size = int(client._line(), 16)
    data = client.read_exactly(size)
    assert client._line() == ""
    return data


def seconds(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


# What PHP is told


def test_a_get_is_told_in_full(front):
    """E1, E2, F16: every variable that PHP and its frameworks read."""
    with front.connect() as client:
        port = client.socket.getsockname()[1]
        told = variables(client.request("GET", "/sub/server.php/more?a=1&b=%20", host="www.example.org:8080",
                                        headers={"X-Test": "yes", "User-Agent": "tests"}))
    root = told["DOCUMENT_ROOT"]
    assert Path(root, "sub/server.php").is_file()
    assert told["REQUEST_METHOD"] == "GET" and told["QUERY_STRING"] == "a=1&b=%20"
    assert told["SCRIPT_NAME"] == "/sub/server.php" and told["PATH_INFO"] == "/more"
    assert told["SCRIPT_FILENAME"] == f"{root}/sub/server.php"
    assert told["REQUEST_URI"] == "/sub/server.php/more?a=1&b=%20"
    assert told["REMOTE_ADDR"] == "127.0.0.1" and told["REMOTE_PORT"] == str(port)
    assert told["SERVER_PROTOCOL"] == "HTTP/1.1" and told["GATEWAY_INTERFACE"] == "CGI/1.1"
    assert told["HTTP_HOST"] == "www.example.org:8080" and told["SERVER_NAME"] == "www.example.org"
    assert told["SERVER_PORT"] == "8080" and told["REQUEST_SCHEME"] == "http" and "HTTPS" not in told
    assert told["REDIRECT_STATUS"] == "200" and told["APP_ENV"] == "test"
    assert told["HTTP_X_TEST"] == "yes" and told["HTTP_USER_AGENT"] == "tests"
    assert not told.get("CONTENT_LENGTH") and "REMOTE_USER" not in told


@pytest.mark.parametrize("query", ["", "?"])
def test_a_query_string_is_there_without_a_query(front, query):
    """E1: always, if empty (lighttpd #1339)."""
    assert variables(front.get(f"/server.php{query}"))["QUERY_STRING"] == ""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "QUERY"])
def test_methods_arrive(front, method):
    assert variables(front.request(method, "/server.php"))["REQUEST_METHOD"] == method


def test_the_target_may_be_absolute(front):
    """X4: PHP gets the path, and the host of the target."""
    with front.connect() as client:
        client.send("GET http://www.example.org/server.php/a?b HTTP/1.1\r\nHost: other.example\r\n\r\n")
        told = variables(client.read_response())
    assert (told["SCRIPT_NAME"], told["PATH_INFO"], told["QUERY_STRING"]) == ("/server.php", "/a", "b")
    assert told["HTTP_HOST"] == "www.example.org" and "://" not in told["REQUEST_URI"]


def test_credentials_arrive(front):
    """E3: PHP checks them itself."""
    credentials = base64.b64encode(b"u:p").decode()
    told = variables(front.get("/server.php", headers={"Authorization": f"Basic {credentials}"}))
    assert told["PHP_AUTH_USER"] == "u" and told["PHP_AUTH_PW"] == "p" and "REMOTE_USER" not in told


def test_repeated_fields_are_joined(front):
    """X3: cookies with a semicolon, others with a comma."""
    fields = [("Cookie", "a=1"), ("X-Two", "1"), ("Cookie", "b=2"), ("X-Two", "2")]
    told = variables(front.get("/server.php", headers=fields))
    assert told["HTTP_COOKIE"] == "a=1; b=2" and told["HTTP_X_TWO"] == "1, 2"


def test_no_field_poses_as_a_variable(front):
    """E3: httpoxy (CVE-2016-5385), CVE-2024-8927, and what concerns the connection alone."""
    told = variables(front.request("POST", "/server.php", body=b"abc", chunked=True, headers=[
        ("Proxy", "http://evil.example:8080"), ("Redirect-Status", "999"), ("Content-Type", "text/plain"),
        ("Connection", "X-Gone"), ("X-Gone", "1"), ("TE", "trailers"), ("Document-Root", "/etc"),
        ("Script-Filename", "/etc/passwd")]))
    for name in ("PROXY", "REDIRECT_STATUS", "CONTENT_TYPE", "CONTENT_LENGTH", "TRANSFER_ENCODING", "CONNECTION",
                 "X_GONE", "TE"):
        assert f"HTTP_{name}" not in told
    assert told["REDIRECT_STATUS"] == "200" and told["CONTENT_TYPE"] == "text/plain" and told["CONTENT_LENGTH"] == "3"
    assert told["DOCUMENT_ROOT"] != "/etc" and told["SCRIPT_FILENAME"].endswith("/server.php")


def test_underscores_in_field_names_are_left_out_and_conflicts_refused(front):
    """E4, P30: two fields never become one variable."""
    assert "HTTP_X_ONE" not in variables(front.get("/server.php", headers={"X_One": "1"}))
    for pair in ([("X-One", "1"), ("X_One", "2")], [("X_One", "2"), ("X-One", "1")]):
        assert front.get("/server.php", headers=pair).status == 400


def test_underscores_that_are_listed_arrive(start, start_fpm, php_root):
    """E4, P30: the way out for old clients."""
    gateway = start(backend(start_fpm(), php_root, underscored=["X_One"]))
    assert variables(gateway.get("/server.php", headers={"X_One": "1", "X_Other": "2"}))["HTTP_X_ONE"] == "1"


# Which script


SCRIPTS = ["/server.php", "/sub/server.php", "/two.php.php", quote("/sp ace/s\u00e9.php")]
# As it is in the target, and as PHP gets it.
INFOS = [("", None), ("/", "/"), ("/a", "/a"), ("/a/b/", "/a/b/"), ("/a%20b", "/a b"), ("/%C3%A5", "/\u00e5"),
         ("/%ff", "/\udcff"), ("/a%3Fb%23c", "/a?b#c"), ("/a+b%2Bc", "/a+b+c"), ("/%2541", "/%41"),
         ("/other.php/x", "/other.php/x"), ("/x.php", "/x.php"), ("/a/../b", "/b"), ("/a&b=c", "/a&b=c")]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("sent, told", INFOS)
def test_the_path_behind_the_script_is_its_path_info(front, script, sent, told):
    """P32, F16: decoded once, and absent when there is none."""
    name = script.replace("%20", " ").replace("%C3%A9", "\u00e9")
    for query in ("", "?x=/other.php/y"):
        got = variables(front.get(script + sent + query))
        assert (got["SCRIPT_NAME"], got.get("PATH_INFO")) == (name, told)
        assert got["SCRIPT_FILENAME"] == got["DOCUMENT_ROOT"] + name
        assert got.get("PATH_TRANSLATED") == (None if told is None else got["DOCUMENT_ROOT"] + told)


@pytest.mark.parametrize("path, script", [
    ("/", "/index.php"), ("/sub/", "/sub/index.php"), ("/sub/?x=1", "/sub/index.php"), ("/x/../sub/", "/sub/index.php"),
    ("/server%2Ephp", "/server.php"), ("/x/%2e%2e/server.php", "/server.php"), ("//server.php", "/server.php"),
    # Nothing of these is a script: the front controller gets them.
    ("/blog/2024", "/index.php"), ("/server.phpx/a", "/index.php"), ("/server.php.bak", "/index.php"),
    ("/php", "/index.php"), ("/page.phtml", "/index.php"), ("/a?x=/server.php/b", "/index.php")])
def test_a_path_without_a_script_gets_the_index(front, path, script):
    """P32: of its folder when it ends in a slash, else the one at the root; there is no PATH_INFO then."""
    assert script_and_info(front.get(path)) == (script, None)


@pytest.mark.parametrize("path, script, info", [
    ("/page.phtml", "/page.phtml", None), ("/page.phtml/a.php/b", "/page.phtml", "/a.php/b"),
    ("/server.php/a.phtml", "/server.php", "/a.phtml"), ("/sub/other.phtml/", "/sub/other.phtml", "/"),
    ("/", "/start.phtml", None), ("/none", "/start.phtml", None)])
def test_extensions_and_the_index_are_configured(start, start_fpm, php_root, path, script, info):
    """P32: the first part of the path that ends in one of them."""
    gateway = start(backend(start_fpm(), php_root, extensions=[".phtml", ".php"], index="start.phtml"))
    assert script_and_info(gateway.get(path)) == (script, info)


@pytest.mark.parametrize("path", ["/server.php%0A", "/server.php/%0Aa", "/server.php/%0D%0Aa", "/server.php/%00",
                                  "/a%00.php", "/index.php/PHP%0Ais.php"])
def test_line_breaks_and_nul_in_a_path_are_refused(front, path):
    """F16: CVE-2019-11043 began with one."""
    assert front.get(path).status == 400


@pytest.mark.parametrize("absolute", [True, False])
def test_one_script_may_get_every_request(start, start_fpm, php_root, absolute):
    script = f"{php_root}/sub/server.php" if absolute else "sub/server.php"
    gateway = start(backend(start_fpm(), php_root, script=script))
    for path in ("/blog/2024", "/x.php/y", "/index.php", "/a%20b"):
        told = variables(gateway.get(f"{path}?q=1"))
        assert told["SCRIPT_FILENAME"] == f"{php_root}/sub/server.php" and told["QUERY_STRING"] == "q=1"
        assert told["PATH_INFO"] == path.replace("%20", " ")


def test_a_route_may_take_its_prefix_off(start, start_fpm, php_root):
    config = backend(start_fpm(), php_root)
    gateway = start({**config, "routes": [{"path": "/php/*", "rewrite": {"strip_prefix": "/php"}, "proxy": "app"},
                                          {"respond": {"status": 404}}]})
    assert script_and_info(gateway.get("/php/server.php/a%20b")) == ("/server.php", "/a b")
    assert script_and_info(gateway.get("/php/sub/")) == ("/sub/index.php", None)
    assert gateway.get("/server.php").status == 404


# Bodies


@pytest.fixture(scope="module", params=[("auto", False), ("auto", True), ("on", False), ("off", False), ("off", True)],
                ids=lambda p: f"buffering {p[0]}{', kept' if p[1] else ''}")
def upload_front(request, php_root, tmp_path_factory):
    buffering, keep = request.param
    folder = tmp_path_factory.mktemp("upload")
    fpm = Fpm(folder / "fpm", CHILDREN).begin()
    try:
        gateway = Gateway(folder, backend(fpm, php_root, keep, request_buffering=buffering))
        gateway.buffering = buffering
        yield gateway
        gateway.stop()
    finally:
        fpm.stop()


@pytest.mark.parametrize("size", SIZES)
def test_uploads_arrive_byte_exact(upload_front, size):
    """F3, F13: whatever the number of records they need."""
    body = random.Random(size).randbytes(size)
    with upload_front.connect(timeout=PATIENCE) as client:
        for _ in range(2):
            headers = {"Content-Type": "application/octet-stream"}
            arrived(client.request("POST", "/body.php", body=body, headers=headers), body)


@pytest.mark.parametrize("size", SIZES)
def test_chunked_uploads_arrive_with_their_length(upload_front, size):
    """P15, F12: PHP reads nothing of a body whose CONTENT_LENGTH it does not know."""
    body = random.Random(size + 1).randbytes(size)
    with upload_front.connect(timeout=PATIENCE) as client:
        for _ in range(2):
            response = client.request("PUT", "/body.php", body=body, chunked=True)
            if upload_front.buffering == "off" and response.status == 411:
                return  # nobody may take the body in, so nobody can know its length
            arrived(response, body)


def test_a_body_may_wait_for_100_continue(upload_front):
    """X6."""
    with upload_front.connect() as client:
        client.send("POST /body.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert client.read_head().status == 100
        client.send("hello")
        arrived(client.read_response(), b"hello")


def test_forms_become_posts(front):
    """The same with PHP's own reader of bodies."""
    kind = "application/x-www-form-urlencoded"
    told = variables(front.request("POST", "/server.php", body="a=1&token=%20b", headers={"Content-Type": kind}))
    assert told["CONTENT_TYPE"] == kind and told["CONTENT_LENGTH"] == "14" and told["posted token"] == " b"


def test_bodies_that_the_script_does_not_read_do_no_harm(front):
    """X20: the next request on the connection is read where it begins."""
    with front.connect() as client:
        for size in (1, 8184, 65_529, 1_000_000):
            assert client.request("POST", "/empty.php", body=b"x" * size).status == 200
            assert script_and_info(client.request("GET", "/server.php")) == ("/server.php", None)


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("buffering", ["auto", "on"])
def test_slow_uploads_hold_no_child(start, start_fpm, php_root, keep, buffering):
    """P16, F13: of known length and of unknown, 30 of them with two children."""
    fpm = start_fpm(children=2)
    gateway = start(backend(fpm, php_root, keep, connections=2, request_buffering=buffering))
    clients = [gateway.connect() for _ in range(30)]
    body = bytes(range(10))
    try:
        for i, client in enumerate(clients):
            framing = "Transfer-Encoding: chunked" if i % 2 else f"Content-Length: {len(body)}"
            client.send(f"POST /body.php HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n")
        for n in range(len(body) - 1):
            for i, client in enumerate(clients):
                client.send(b"1\r\n%c\r\n" % body[n] if i % 2 else body[n:n + 1])
            assert seconds(lambda: variables(gateway.get("/server.php"))) < AT_ONCE
            if not keep:  # a kept connection makes a child look busy
                eventually(fpm.idle, "children without an upload", PATIENCE / 4)
        for i, client in enumerate(clients):
            client.send(b"1\r\n%c\r\n0\r\n\r\n" % body[-1] if i % 2 else body[-1:])
        for client in clients:
            arrived(client.read_response(), body)
    finally:
        for client in clients:
            client.close()


def test_uploads_that_end_early_leave_the_children_free(start, start_fpm, php_root):
    """F13, X18: more of them than there are children, at several places of the body."""
    fpm = start_fpm(children=2)
    for buffering in ("auto", "off"):
        gateway = start(backend(fpm, php_root, connections=2, request_buffering=buffering))
        for size in (0, 1, 9000, 90_000) * 3:
            client = gateway.connect()
            client.send(b"POST /body.php HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + b"x" * size)
            client.reset()
        assert seconds(lambda: arrived(gateway.request("POST", "/body.php", body=b"abc"), b"abc")) < 5 * AT_ONCE
        eventually(lambda: gateway.metrics().sum("pontage_requests_in_flight") == 0)
    eventually(fpm.idle)


@pytest.mark.parametrize("length", ["", "&length"])
@pytest.mark.parametrize("size", [0, 1, 8184, 65_528, 65_529, 1 << 20, BIG])
def test_downloads_are_byte_exact(front, big, size, length):
    """F5, X11: a Content-Length of the script's is kept."""
    with front.connect(timeout=PATIENCE) as client:
        response = client.request("GET", f"/bytes.php?size={size}{length}")
        assert response.status == 200 and not response.truncated
        assert len(response.body) == size and response.body == big[:size]
        assert not length or response.header("Content-Length") == str(size)
        assert client.request("GET", "/server.php").status == 200


# Answers


def test_heads_have_no_body_and_keep_the_length(front):
    """P12, X11: none is made up where the script gave none."""
    with front.connect() as client:
        for _ in range(3):
            assert client.request("HEAD", "/bytes.php?size=5000&length").header("Content-Length") == "5000"
            assert client.request("HEAD", "/answer.php?length=3&body=abc").header("Content-Length") == "3"
            assert client.request("HEAD", "/answer.php?body=abc").header("Content-Length") in (None, "3")
            assert client.request("GET", "/answer.php?body=abc").body == b"abc"


@pytest.mark.parametrize("status", [204, 304])
@pytest.mark.parametrize("body", ["", "&body=abc"])
def test_answers_without_a_body_leave_the_connection_usable(front, status, body):
    """P35: also when the script writes one."""
    with front.connect() as client:
        for _ in range(3):
            assert client.request("GET", f"/answer.php?status={status}{body}").status == status
            assert client.request("GET", "/answer.php?body=next").body == b"next"


@pytest.mark.parametrize("status", [200, 201, 400, 401, 403, 404, 410, 422, 500, 503])
def test_statuses_pass(front, status):
    response = front.get(f"/answer.php?status={status}&body=words")
    assert response.status == status and response.body == b"words" and response.header("Status") is None


@pytest.mark.parametrize("location", ["/there?x=1", "http://other.example/a%20b", "relative"])
def test_a_location_alone_redirects_and_ends(front, location):
    """P19, P20, C2: 302, and the client does not wait for a body."""
    with front.connect() as client:
        for _ in range(2):
            response = client.request("GET", f"/answer.php?location={quote(location, safe='')}")
            assert response.status == 302 and response.header("Location") == location
            assert response.body == b"" and is_delimited(response), response
        for status in (201, 301, 303, 307):
            assert client.request("GET", f"/answer.php?location=/x&status={status}").status == status


def test_a_script_without_a_word_is_an_empty_page(front):
    """P20, P22: PHP itself adds a Content-Type, so there is a head."""
    with front.connect() as client:
        for _ in range(2):
            response = client.request("GET", "/empty.php")
            assert response.status == 200 and response.body == b"" and is_delimited(response)


def test_sixty_kilobytes_of_cookies_pass(front):
    """P18, F18, A7: in order, none lost."""
    cookies = front.get("/answer.php?cookies=60&size=1000&body=fine")
    assert cookies.status == 200 and cookies.body == b"fine"
    assert [c.partition("=")[0] for c in cookies.all("Set-Cookie")] == [f"c{i}" for i in range(60)]
    assert sum(len(f"Set-Cookie: {c}") for c in cookies.all("Set-Cookie")) == 60_000
    assert len(front.get("/answer.php?cookies=1&size=16000").header("Set-Cookie")) > 15_900


@pytest.mark.parametrize("query", ["cookies=70&size=1000", "cookies=1&size=17000", "cookies=150&size=20"])
def test_a_head_over_the_limit_is_a_502(front, query):
    """P18, F18, X8: all of it, one field, or their number; the next answer is not touched."""
    with front.connect() as client:
        assert client.request("GET", f"/answer.php?{query}&body=fine").status == 502
    assert front.get("/answer.php?body=fine").body == b"fine"


def test_a_missing_script_is_php_s_own_404(front):
    """P31: its page passes, whatever came before on the connection."""
    with front.connect() as client:
        for path in ("/none.php", "/none.php/info", "/none/"):
            response = client.request("GET", path)
            assert response.status == 404 and b"File not found" in response.body
            assert client.request("GET", "/server.php").status == 200


def test_the_log_says_which_script_is_missing(start, start_fpm, php_root):
    """P31, F7: PHP says `Primary script unknown`, which helps nobody without the file that was asked for."""
    gateway = start(backend(start_fpm(), php_root))
    assert gateway.get("/sub/none.php/info").status == 404
    eventually(lambda: "Primary script unknown" in gateway.output(), "PHP's word in the log", PATIENCE / 4)
    assert f"{php_root}/sub/none.php" in gateway.output()


@pytest.mark.parametrize("text, logged", [("one-word", "one-word before"), ("two%0Alines", "two"),
                                          ("%1B%5B31mred", "[31mred before")])
def test_errors_of_scripts_are_logged_and_not_shown(start, start_fpm, php_root, text, logged):
    """F7, X21: line by line, the first at least, and nothing in it controls a terminal."""
    gateway = start(backend(start_fpm(), php_root))
    response = gateway.get(f"/errors.php?text={text}")
    assert response.status == 200 and response.body == b"fine\n"
    eventually(lambda: logged in gateway.output(), f"{logged!r} in the log", PATIENCE / 4)
    output = gateway.output()
    assert "\x1b" not in output and not any(line.startswith("lines") for line in output.splitlines())


def test_many_errors_delay_no_answer(front):
    """F7: a megabyte of them, before the head; the log need not hold them all."""
    assert seconds(lambda: front.get("/errors.php?text=flood&lines=1000&width=1000")) < 5 * AT_ONCE
    response = front.get("/errors.php?text=wide&lines=3&width=70000")
    assert response.status == 200 and response.body == b"fine\n"


# Time


def begin_stream(gateway, folder, query="", receive=True):
    """A client whose script waits for the file release; and the paths release, told, started."""
    release, told, started = (folder / f"{name}{time.monotonic_ns()}" for name in ("release", "told", "started"))
    client = gateway.connect(timeout=PATIENCE)
    client.send(f"GET /stream.php?release={release}&told={told}&started={started}{query} HTTP/1.1\r\nHost: a\r\n\r\n")
    if receive:
        assert client.read_head().status == 200
        assert read_piece(client).startswith(b"first\n")
    else:
        eventually(started.exists, "the script to start")
    return client, release, told


def test_flushed_pieces_pass_at_once(front, tmp_path):
    """X22, F5: the first is read while the script still waits."""
    client, release, _ = begin_stream(front, tmp_path)
    with client:
        assert client.silent(0.05)
        release.touch()
        assert read_piece(client) == b"last\n"
        assert client._line() == "0" and client._line() == ""
        assert client.request("GET", "/answer.php?body=next").body == b"next"


def test_a_client_that_leaves_frees_the_child(front, tmp_path):
    """F14, X18: PHP learns of it when it writes; then all children are free again, and nobody counts an error."""
    clients = [begin_stream(front, tmp_path, "&ticks") for _ in range(CHILDREN)]
    for client, _, _ in clients:
        client.close()
    for _, _, told in clients:
        eventually(told.exists, "the script to notice")
        eventually(lambda: told.read_text() == "aborted", "the script to say so")
    eventually(front.fpm.idle)
    assert seconds(lambda: variables(front.get("/server.php"))) < AT_ONCE


def test_an_answer_that_nobody_waits_for_frees_its_connection(start, start_fpm, php_root, tmp_path):
    """F14, X20: also when PHP does not notice; another child serves the next, whose answer is its own."""
    gateway = start(backend(start_fpm(children=2), php_root, keep=True, connections=1))
    client, release, _ = begin_stream(gateway, tmp_path, "&quiet", receive=False)
    client.close()
    try:
        assert seconds(lambda: arrived(gateway.request("POST", "/body.php", body=b"mine"), b"mine")) < 5 * AT_ONCE
    finally:
        release.touch()


def test_a_script_that_takes_too_long_is_a_504(start, start_fpm, php_root, tmp_path):
    """X17: before its head; afterwards the answer is cut."""
    gateway = start(backend(start_fpm(children=3), php_root, timeouts={"first_byte": "300ms", "idle": "300ms"}))
    release = tmp_path / "release"
    try:
        assert gateway.get(f"/stream.php?quiet&release={release}").status == 504
        late = gateway.get(f"/stream.php?release={release}")
        assert late.status == 200 and late.truncated and late.body == b"first\n"
    finally:
        release.touch()


# Children


def ask_in_a_row(gateway, count, path="/server.php"):
    """Asks one by one, on one connection and on new ones in turn; (statuses, longest time)."""
    statuses, longest = set(), 0.0
    with gateway.connect() as client:
        for i in range(count):
            begin = time.monotonic()
            response = client.request("GET", path) if i % 2 else gateway.get(path)
            longest = max(longest, time.monotonic() - begin)
            statuses.add(response.status)
    return statuses, longest


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_no_request_waits_for_a_child_that_is_held(start, start_fpm, php_root, keep, tcp):
    """P13, F8, F9, F10 (haproxy#2936): 200 requests with two children, none takes a second."""
    gateway = start(backend(start_fpm(children=2, tcp=tcp), php_root, keep, connections=2))
    statuses, longest = ask_in_a_row(gateway, 200)
    assert statuses == {200} and longest < AT_ONCE


def test_without_keep_alive_one_child_serves_any_number_of_connections(start, start_fpm, php_root):
    """F8, F9: a connection is closed as soon as its answer has ended, else the child reads on."""
    gateway = start(backend(start_fpm(children=1), php_root, connections=50))
    clients = [gateway.connect() for _ in range(10)]
    for client in clients * 3:
        assert seconds(lambda: variables(client.request("GET", "/server.php"))) < AT_ONCE
    for client in clients:
        client.close()


def test_kept_connections_are_used_again(start, start_fpm, php_root):
    """F8: which is what keep_alive is for."""
    gateway = start(backend(start_fpm(children=2), php_root, keep=True, connections=2))
    with gateway.connect() as client:
        for _ in range(50):
            assert client.request("GET", "/server.php").status == 200
    assert gateway.metrics().sum("pontage_backend_connection_reuse_total", result="reused") >= 49


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_children_that_are_replaced_fail_no_get(start, start_fpm, php_root, keep, tcp):
    """P14, F9 (caddy#1123): each child serves five requests, 300 are asked, one by one and side by side."""
    gateway = start(backend(start_fpm(children=2, requests=5, tcp=tcp), php_root, keep, connections=2))
    assert ask_in_a_row(gateway, 100)[0] == {200}
    count = amount(50, 300)
    assert {s for statuses, _ in in_parallel(4, lambda _: ask_in_a_row(gateway, count)) for s in statuses} == {200}


@pytest.mark.parametrize("keep", KEEP)
def test_a_full_backlog_is_waited_for(start, start_fpm, php_root, keep):
    """P17, F15: connect() says EAGAIN then, which is no failure; a burst of five times the backlog is served."""
    gateway = start(backend(start_fpm(children=1, backlog=4), php_root, keep, connections=1 if keep else 100))
    statuses = in_parallel(20, lambda _: gateway.get("/bytes.php?size=1000000").status)
    assert set(statuses) == {200}, statuses


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_a_server_that_was_killed_serves_again(start, start_fpm, php_root, tmp_path, keep, tcp):
    """X10, X19: what was under way ends, then there are errors, then there are none."""
    fpm = start_fpm(children=3, tcp=tcp)
    gateway = start(backend(fpm, php_root, keep, connections=3))
    assert gateway.get("/server.php").status == 200
    client, _, _ = begin_stream(gateway, tmp_path)
    silent, _, _ = begin_stream(gateway, tmp_path, "&quiet", receive=False)
    with client, silent:
        fpm.kill()
        assert silent.read_response().status in (502, 503)
        assert client.closed()  # the end of a chunked body never comes
        assert gateway.get("/server.php").status in (502, 503)
        fpm.start()
        eventually(lambda: gateway.get("/server.php").status == 200, "the server to be used again")
    assert ask_in_a_row(gateway, 20)[0] == {200}


@pytest.mark.parametrize("keep", KEEP)
def test_nobody_gets_the_answer_of_another(start, start_fpm, php_root, keep):
    """V7, X20: eight clients, two requests at once on each connection, and others that leave before their answer."""
    gateway = start(backend(start_fpm(children=CHILDREN), php_root, keep))

    def work(i):
        with gateway.connect() as client:
            for n in range(13):
                tokens = [f"{i}-{n}-{k}" for k in range(2)]
                bodies = [t.encode() * (1000 if n % 3 else 1) for t in tokens]
                for token, body in zip(tokens, bodies):
                    head = f"POST /body.php?token={token} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
                    client.send(head.encode() + body)
                for token, body in zip(tokens, bodies):
                    response = client.read_response()
                    arrived(response, body)
                    assert response.json()["token"] == token
                if n % 4 == i % 4:
                    leaver = gateway.connect()
                    leaver.send(f"GET /body.php?token=left-{i} HTTP/1.1\r\nHost: a\r\n\r\n")
                    select.select([leaver.socket], [], [], 0.002 * (n % 3))
                    leaver.reset()
    in_parallel(8, work)
    eventually(lambda: gateway.metrics().sum("pontage_requests_in_flight") == 0)
    assert gateway.alive()
