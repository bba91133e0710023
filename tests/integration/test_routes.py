"""Routes: first match wins, matchers, rewrites, header edits, redirects."""
import pytest

from fakes import FakeServer, ok
from harness import proxy_to

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def behind():
    def script(connection):
        while True:
            server.note(connection.read_request())
            connection.send(ok(b"fine", "X-Server: secret\r\nX-Both: server\r\n"))
    with FakeServer(script) as server:
        yield server


def test_the_first_route_that_matches_decides(start):
    gateway = start({"routes": [
        {"path": "/a", "respond": "exact"}, {"path": "/a/*", "respond": "prefix"}, {"path": "~/re[0-9]+", "respond": "regex"},
        {"host": "www.example.org", "respond": "host"}, {"host": "*.example.org", "respond": "wild"}, {"method": "DELETE", "respond": "method"},
        {"match": {"header": {"X-A": "1"}}, "respond": "header"}, {"match": {"query": {"q": "a b"}}, "respond": "query"},
        {"match": {"cookie": {"c": "1"}}, "respond": "cookie"}]})
    ask = lambda path="/x", method="GET", **o: gateway.request(method, path, **o).body.decode()
    assert ask("/a") == "exact" and ask("/a/b") == "prefix" and ask("/a/") == "prefix"
    assert ask("/re42") == "regex" and "404" in ask("/re42x")
    assert ask(host="WWW.example.org:8080") == "host" and ask(host="a.b.example.org") == "wild" and "404" in ask(host="example.org")
    assert ask(method="DELETE") == "method"
    assert ask(headers={"x-a": "1"}) == "header" and "404" in ask(headers={"X-A": "2"})
    assert ask("/x?y&q=a%20b") == "query" and "404" in ask("/x?q=ab")
    assert ask(headers={"Cookie": "cc=1; c=1"}) == "cookie" and "404" in ask(headers={"Cookie": "xc=1; c=2"})


@pytest.mark.parametrize("rewrite, path, arrives", [
    ({"strip_prefix": "/app"}, "/app/x?q", "/x?q"), ({"strip_prefix": "/app"}, "/app", "/"), ({"strip_prefix": "/app"}, "/apple", "/apple"),
    ({"add_prefix": "/v2"}, "/x", "/v2/x"), ({"strip_prefix": "/a", "add_prefix": "/b"}, "/a/x", "/b/x"),
    ({"regex": "/u/([0-9]+)", "replacement": "/user/\\1/page"}, "/u/42", "/user/42/page"),
    ({"strip_prefix": "/app"}, "/app//evil.example", "/evil.example")])
def test_rewrites_change_what_the_server_gets(start, behind, rewrite, path, arrives):
    config = proxy_to(behind.url)
    config["routes"][0]["rewrite"] = rewrite
    behind.requests.clear()
    assert start(config).get(path).status == 200
    assert behind.requests[0].target == arrives


def test_header_edits(start, behind):
    config = proxy_to(behind.url)
    config["routes"][0].update({
        "request_headers": {"set": {"X-Set": "gateway"}, "add": {"X-Add": "two"}, "remove": ["X-Remove"]},
        "response_headers": {"set": {"X-Both": "gateway"}, "add": {"X-Frame-Options": "DENY"}, "remove": ["X-Server"]}})
    behind.requests.clear()
    response = start(config).get("/", headers={"X-Set": "client", "X-Add": "one", "X-Remove": "1"})
    sent = behind.requests[0]
    assert sent.all("X-Set") == ["gateway"] and sent.all("X-Add") == ["one", "two"] and sent.all("X-Remove") == []
    assert response.all("X-Both") == ["gateway"] and response.header("X-Frame-Options") == "DENY" and not response.all("X-Server")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(start, status):
    gateway = start({"routes": [{"redirect": {"location": "https://www.example.org/new", "status": status}}]})
    response = gateway.get("/old")
    assert response.status == status and response.header("Location") == "https://www.example.org/new"


def test_fixed_answers(start):
    gateway = start({"routes": [{"respond": {"status": 418, "body": "<p>teapot", "content_type": "text/html"}}]})
    response = gateway.request("POST", "/", body=b"x" * 100)
    assert (response.status, response.body, response.header("Content-Type")) == (418, b"<p>teapot", "text/html")
    assert gateway.request("HEAD", "/").header("Content-Length") == "9"


def test_no_route_is_404(start):
    gateway = start({"routes": [{"path": "/only", "respond": "x"}]})
    assert gateway.get("/other").status == 404
    gateway.counts(1, "pontage_requests_total", route="none", code="404")


@pytest.mark.parametrize("key, path", [("encoded_slash", "/a%2Fb"), ("backslash", "/a%5Cb"), ("nul", "/a%00b")])
def test_dangerous_escapes_need_permission(start, behind, key, path):
    assert start(proxy_to(behind.url)).get(path).status == 400
    config = proxy_to(behind.url)
    config["routes"][0][key] = "allow"
    behind.requests.clear()
    assert start(config).get(path).status == 200
    assert behind.requests[0].target.lower() == path.lower()


def test_servers_get_via_request_id_and_traceparent(start, behind):
    behind.requests.clear()
    start(proxy_to(behind.url)).get("/", headers={"traceparent": "nonsense", "X-Request-Id": "client's own\""})
    request = behind.requests[0]
    assert len(request.all("X-Request-Id")) == 1 and "client" not in request.all("X-Request-Id")[0]
    assert len(request.all("traceparent")) == 1 and request.all("traceparent")[0].startswith("00-")
    assert request.all("Via")
