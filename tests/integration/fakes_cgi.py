"""FastCGI, SCGI and uwsgi servers: strict about the request, byte by byte, and free in what they answer."""
import itertools
import json
import select
import struct
import threading

from fakes import Connection, FakeServer

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR, GET_VALUES_RESULT, UNKNOWN_TYPE = 1, 2, 3, 4, 5, 6, 7, 10, 11
HEADER = struct.Struct(">BBHHBB")


class Aborted(EOFError):
    """The gateway sent FCGI_ABORT_REQUEST."""


class CgiRequest:
    """`pairs` as they came, `vars` by name, `body` once it was read. FastCGI: `keep`, `params` (the records' sizes)."""

    def __init__(self, pairs, raw=b"", keep=False, params=()):
        self.pairs, self.raw, self.keep, self.params = pairs, raw, keep, list(params)
        self.vars = dict(pairs)
        self.body, self.stdin = b"", []
        assert len(self.vars) == len(pairs), f"a name comes twice: {[n for n, _ in pairs]}"
        for name, value in pairs:
            assert name and "\0" not in name and "\0" not in value, (name, value)

    @property
    def length(self):
        return int(self.vars.get("CONTENT_LENGTH") or 0)

    @property
    def path(self):
        return self.vars["REQUEST_URI"].split("?")[0]

    @property
    def query(self):
        return self.vars["QUERY_STRING"]


# ---- FastCGI records

def record(kind, content=b"", padding=0, request_id=1, version=1, claimed=None):
    size = len(content) if claimed is None else claimed
    return HEADER.pack(version, kind, request_id, size, padding, 0) + content + b"\xee" * padding


def stdout(data, padding=0):
    return record(STDOUT, data, padding)


def stderr(data, padding=0):
    return record(STDERR, data, padding)


def end_request(status=0, app=0, padding=0):
    return record(END, struct.pack(">IB3x", app, status), padding)


def fcgi_answer(cgi, padding=0, size=65535, last=True):
    pieces = (cgi[i:i + size] for i in range(0, len(cgi), size))
    empty = stdout(b"", padding) if last else b""
    return b"".join(stdout(p, padding) for p in pieces) + empty + end_request(0, 0, padding)


class CgiConnection(Connection):
    def read_request(self):
        return self.read_body(self.read_head())

    def answer(self, cgi):
        self.send(self.wrap(cgi))

    def quiet(self, seconds=0.05):
        """True when the gateway neither sends nor shuts down anything for a while."""
        return not self.pending and not select.select([self.socket], [], [], seconds)[0]


class FastCgiConnection(CgiConnection):
    wrap = staticmethod(fcgi_answer)

    def read_record(self):
        """(type, content, the record's bytes)"""
        head = self.exactly(HEADER.size)
        version, kind, request_id, size, padding, reserved = HEADER.unpack(head)
        assert (version, request_id, reserved) == (1, 1, 0), f"a wrong record: {head!r}"
        content = self.exactly(size)
        return kind, content, head + content + self.exactly(padding)

    def read_head(self):
        """BEGIN_REQUEST and PARAMS, in this order and nothing between."""
        kind, content, raw = self.read_record()
        if kind == ABORT:  # of the request before, whose answer the gateway did not want to its end
            raise Aborted
        assert kind == BEGIN and len(content) == 8, f"no BEGIN_REQUEST: {raw!r}"
        assert content[:2] == b"\0\1" and content[2] in (0, 1) and content[3:] == bytes(5), content
        keep, pairs, sizes = content[2] == 1, [], []
        while True:
            kind, content, more = self.read_record()
            assert kind == PARAMS, f"PARAMS, not {kind}"
            raw += more
            sizes.append(len(content))
            if not content:
                return CgiRequest(pairs, raw, keep, sizes)
            pairs += whole_pairs(content)

    def read_body(self, request):
        parts = []
        while True:
            kind, content, _ = self.read_record()
            if kind == ABORT:
                raise Aborted
            assert kind == STDIN, f"STDIN, not {kind}"
            request.stdin.append(len(content))
            if not content:
                break
            parts.append(content)
        request.body = b"".join(parts)
        assert len(request.body) == request.length, f"{len(request.body)} bytes of {request.length}"
        assert self.pending == b"", f"bytes behind the request: {self.pending[:99]!r}"
        return request


def whole_pairs(content):
    """The pairs of one PARAMS record, none of which goes on in the next (F3)."""
    at, pairs = 0, []

    def length():
        nonlocal at
        size = 1 if content[at] < 128 else 4
        at += size
        return int.from_bytes(content[at - size:at], "big") & (0x7f if size == 1 else 0x7fffffff)
    while at < len(content):
        name, value = length(), length()
        assert at + name + value <= len(content), "a pair is longer than its record"
        pairs.append((content[at:at + name].decode("latin-1"), content[at + name:at + name + value].decode("latin-1")))
        at += name + value
    return pairs


# ---- SCGI and uwsgi

class BlockConnection(CgiConnection):
    wrap = staticmethod(lambda cgi: cgi)

    def read_body(self, request):
        parts, missing = [], request.length
        while missing:
            parts.append(self.exactly(min(missing, 65536)))
            missing -= len(parts[-1])
        request.body = b"".join(parts)
        assert self.pending == b"", f"bytes behind the request: {self.pending[:99]!r}"
        return request


class ScgiConnection(BlockConnection):
    def read_head(self):
        digits = b""
        while (digit := self.exactly(1)) != b":":
            digits += digit
            assert digit.isdigit() and len(digits) < 10 and digits[:1] != b"0", f"no netstring: {digits!r}"
        block = self.exactly(int(digits))
        assert self.exactly(1) == b",", "a netstring without its comma"
        assert block.endswith(b"\0") and block.startswith(b"CONTENT_LENGTH\0"), block[:80]
        words = block[:-1].decode("latin-1").split("\0")
        assert len(words) % 2 == 0, words
        request = CgiRequest(list(zip(words[::2], words[1::2])), digits + b":" + block + b",")
        assert request.vars["SCGI"] == "1" and request.vars["CONTENT_LENGTH"].isdigit()
        return request


class UwsgiConnection(BlockConnection):
    def read_head(self):
        head = self.exactly(4)
        modifier1, size, modifier2 = struct.unpack("<BHB", head)
        assert (modifier1, modifier2) == (0, 0), head
        block, at, words = self.exactly(size), 0, []
        while at < size:
            count = struct.unpack_from("<H", block, at)[0]
            words.append(block[at + 2:at + 2 + count].decode("latin-1"))
            at += 2 + count
        assert at == size and len(words) % 2 == 0, "the block does not end with a value"
        return CgiRequest(list(zip(words[::2], words[1::2])), head + block)


# ---- servers

def info(connection, request):
    """The variables as JSON, and the body's size."""
    connection.read_body(request)
    text = json.dumps({**request.vars, " body": request.body.hex() if len(request.body) < 100 else ""})
    connection.answer(b"Content-Type: application/json\r\n\r\n" + text.encode())


class FakeCgi(FakeServer):
    """Gives each request to an app, `app(connection, request)`, which has to read the body itself.

    The app is the one given, or the one that `serve` gave the path's first segment to. When it returns, the connection
    is closed, unless the request asked to keep it: then the next one is read. A FastCGI server lets the gateway close.
    """

    def __init__(self, app=info):
        self.app, self.apps, self.numbers = app, {}, itertools.count(1)
        self.seen = 0   # requests
        self.ended = 0  # connections that were closed, from either side
        super().__init__(self._run)

    def serve(self, app):
        """A path whose requests `app` gets."""
        path = f"/{next(self.numbers)}"
        self.apps[path] = app
        return path

    def _run(self, connection):
        try:
            while True:
                request = connection.read_head()
                with self.lock:
                    self.seen += 1
                app = self.apps.get("/" + (request.path + "/").split("/")[1], self.app)
                app(connection, request)
                if not request.keep:
                    break
            if self.scheme == "fastcgi":
                connection.ended()
        finally:
            with self.lock:
                self.ended += 1


class FakeFastCgi(FakeCgi):
    kind, scheme = FastCgiConnection, "fastcgi"


class FakeScgi(FakeCgi):
    kind, scheme = ScgiConnection, "scgi"


class FakeUwsgi(FakeCgi):
    kind, scheme = UwsgiConnection, "uwsgi"


SERVERS = {"fastcgi": FakeFastCgi, "scgi": FakeScgi, "uwsgi": FakeUwsgi}


def giving(cgi):
    """An app that reads the whole request and answers with these bytes, wrapped as the protocol wants it."""
    return lambda connection, request: (connection.read_body(request), connection.answer(cgi))


def giving_raw(data):
    """An app that reads the whole request and answers with exactly these bytes."""
    return lambda connection, request: (connection.read_body(request), connection.send(data))


def cutting(data):
    """An app that answers with the first `int(query)` of these bytes and closes."""
    def app(connection, request):
        connection.read_body(request)
        connection.send(data[:int(request.query)])
        connection.close()
        raise EOFError
    return app


class Gate:
    """Holds a server's thread until the test opens it; opened at the end of the `with` in any case."""

    def __init__(self):
        self.event = threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open()

    def open(self):
        self.event.set()

    def wait(self, seconds=20):
        assert self.event.wait(seconds), "nobody opened the gate"
