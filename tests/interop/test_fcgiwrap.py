"""CGI scripts behind the gateway, run by fcgiwrap: it passes on what PHP never writes. Ids are those of ADAPTERS."""
import hashlib
import random

import pytest

from harness import PATIENCE, Gateway, eventually, proxy_to

PAGE = r"printf 'Content-Type: text/plain\r\n\r\nfine'"

# Name: what the script writes, and what the client gets of it: (status, body, fields).
GOOD = {
    "page": (PAGE, (200, b"fine", {})),
    "lines end with LF": (r"printf 'Content-Type: text/plain\n\nfine'", (200, b"fine", {"Content-Type": "text/plain"})),
    "lines end as they like": (r"printf 'Content-Type: text/plain\nX-A: 1\r\n\nfine'", (200, b"fine", {"X-A": "1"})),
    "status": (r"printf 'Status: 404 Not Here\r\n\r\nnone'", (404, b"none", {"Status": None})),
    "status without a reason": (r"printf 'Status: 410\r\n\r\n'", (410, b"", {})),
    "location": (r"printf 'Location: http://other.example/\r\n\r\n'",
                 (302, b"", {"Location": "http://other.example/"})),
    "location of this host": (r"printf 'Location: /there\r\n\r\n'", (302, b"", {"Location": "/there"})),
    "location with a status": (r"printf 'Status: 303 See\r\nLocation: /there\r\n\r\n'",
                               (303, b"", {"Location": "/there"})),
    "location with 201": (r"printf 'Location: /there\r\nStatus: 201\r\n\r\nmade'",
                          (201, b"made", {"Location": "/there"})),
    "location with a body": (r"printf 'Location: /there\r\nContent-Type: text/plain\r\n\r\nmoved'",
                             (302, b"moved", {})),
    "head in pieces": (r"""for p in 'Content-' 'Type: text/plain\r\n\r' '\nfine'; do printf "$p"; sleep 0.02; done""",
                       (200, b"fine", {"Content-Type": "text/plain"})),
    "length": (r"printf 'Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nfine'",
               (200, b"fine", {"Content-Length": "4"})),
    "longer than said": (r"printf 'Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nfine and more'",
                         (200, b"fine", {"Content-Length": "4"})),
    "length and chunked": (r"printf 'Status: 200\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nfine'",
                           (200, b"fine", {"Content-Length": "4", "Transfer-Encoding": None})),
    "connection": (r"printf 'Status: 200\r\nConnection: X-A\r\nKeep-Alive: 9\r\n\r\nfine'",
                   (200, b"fine", {"Keep-Alive": None})),
}

BAD = {
    "nothing": "exit 0",
    "nothing, and a code": "exit 3",
    "no head": "printf 'just words'",
    "no end of the head": r"printf 'Content-Type: text/plain\r\n'",
    "a head that says nothing": r"printf 'X-A: 1\r\n\r\nwords'",
    "an empty head": r"printf '\r\nwords'",
    "no field": r"printf 'Content-Type: text/plain\r\nwords\r\n\r\n'",
    "a field without a name": r"printf 'Content-Type: text/plain\r\n: words\r\n\r\n'",
    "a NUL": r"printf 'Content-Type: text/plain\r\nX-A: \000\r\n\r\n'",
    "a status with a colon": r"printf 'Status: 404: none\r\n\r\n'",
    "a status in words": r"printf 'Status: OK\r\n\r\n'",
    "a status of four digits": r"printf 'Status: 2000\r\n\r\n'",
    "a status of nothing": r"printf 'Status:\r\n\r\n'",
    "two statuses": r"printf 'Status: 200\r\nStatus: 404\r\n\r\n'",
    "an interim status": r"printf 'Status: 100 Continue\r\n\r\n'",
    "a switch of protocols": r"printf 'Status: 101 Switching\r\nUpgrade: websocket\r\n\r\n'",
    "a length in words": r"printf 'Content-Type: text/plain\r\nContent-Length: four\r\n\r\nfour'",
    "a negative length": r"printf 'Content-Type: text/plain\r\nContent-Length: -4\r\n\r\nfour'",
    "two lengths": r"printf 'Content-Type: text/plain\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nfour'",
    "a length that no file has": r"printf 'Content-Type: text/plain\r\nContent-Length: 99999999999999999999\r\n\r\nx'",
}

OTHERS = {
    "short": r"printf 'Content-Type: text/plain\r\nContent-Length: 10\r\n\r\nfive!'",
    "complains": "echo 'the disk is full' >&2; exit 1",
    "both": f"i=0; while [ $i -lt 2000 ]; do echo a line of complaint >&2; i=$((i+1)); done; {PAGE}",
    "hash": r"printf 'Content-Type: text/plain\r\n\r\n%s ' ${CONTENT_LENGTH:-0}; exec sha256sum",
    "variables": r"printf 'Content-Type: text/plain\r\n\r\n'; exec env",
}


def path_of(name):
    return f"/{name.replace(' ', '-').replace(',', '')}.cgi"


@pytest.fixture(scope="module")
def front(fcgiwrap, tmp_path_factory):
    folder = tmp_path_factory.mktemp("front")
    root = folder / "root"
    root.mkdir()
    scripts = {**{n: text for n, (text, _) in GOOD.items()}, **BAD, **OTHERS}
    for name, text in scripts.items():
        file = root / path_of(name)[1:]
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    gateway = Gateway(folder, proxy_to(fcgiwrap.url(), document_root=str(root), extensions=[".cgi"], index="page.cgi"))
    yield gateway
    gateway.stop()


@pytest.mark.parametrize("name", GOOD)
def test_a_head_means_what_it_says(front, name):
    """C1, C2, P19, P20, X9, X10: with an end that the client sees."""
    status, body, fields = GOOD[name][1]
    with front.connect() as client:
        for _ in range(2):
            response = client.request("GET", path_of(name))
            assert (response.status, response.body, response.truncated) == (status, body, False)
            assert response.header("Content-Length") is not None or response.header("Transfer-Encoding") == "chunked"
            for field, value in fields.items():
                assert response.header(field) == value


@pytest.mark.parametrize("name", BAD)
def test_a_head_that_makes_no_sense_is_a_502(front, name):
    """C1, P21, P22, X7, X8, X9: and nothing of it gets to the client."""
    for _ in range(2):
        response = front.get(path_of(name))
        assert response.status == 502 and response.header("X-A") is None
    assert front.get("/page.cgi").body == b"fine"


def test_a_body_shorter_than_said_is_cut(front):
    """X10: the client must see that it is not all."""
    response = front.get(path_of("short"))
    assert response.status == 200 and response.body == b"five!" and response.truncated


def test_what_a_script_complains_of_is_logged(front):
    """F7, P22: the more so when it says nothing else."""
    assert front.get(path_of("complains")).status == 502
    eventually(lambda: "the disk is full" in front.output(), "the complaint in the log", PATIENCE / 4)
    response = front.get(path_of("both"))
    assert response.status == 200 and response.body == b"fine"


@pytest.mark.parametrize("size", [0, 1, 65_536, 1 << 20])
@pytest.mark.parametrize("chunked", [False, True], ids=["known", "chunked"])
def test_uploads_arrive_byte_exact(front, size, chunked):
    """P15, F12."""
    body = random.Random(size).randbytes(size)
    response = front.request("POST", path_of("hash"), body=body, chunked=chunked)
    length, digest, _ = response.body.decode().split()
    assert (int(length), digest) == (size, hashlib.sha256(body).hexdigest())


def test_variables_arrive(front):
    """E1, E2, E3."""
    response = front.get("/variables.cgi/a%20b?q=1", headers={"X-Test": "yes", "Proxy": "http://evil.example"})
    told = dict(line.split("=", 1) for line in response.body.decode().splitlines() if "=" in line)
    assert told["SCRIPT_NAME"] == "/variables.cgi" and told["PATH_INFO"] == "/a b" and told["QUERY_STRING"] == "q=1"
    assert told["HTTP_X_TEST"] == "yes" and "HTTP_PROXY" not in told and not told.get("CONTENT_LENGTH")
