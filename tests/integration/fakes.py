"""Application servers that do exactly what a test tells them, bytes and all: for answers that no decent server gives."""
import re
import socket
import struct
import threading
import time

from harness import PATIENCE


class Connection:
    """One accepted connection: reads requests, sends what the script says."""

    def __init__(self, sock, number):
        self.socket, self.number, self.pending = sock, number, b""
        self.socket.settimeout(PATIENCE)

    def more(self):
        got = self.socket.recv(65536)
        self.pending += got
        return got

    def exactly(self, count):
        while len(self.pending) < count:
            if not self.more():
                raise EOFError
        data, self.pending = self.pending[:count], self.pending[count:]
        return data

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def ended(self):
        """Waits until the peer closes; what it sent until then is thrown away."""
        try:
            while self.socket.recv(65536):
                pass
        except OSError:
            pass
        return True


class HttpConnection(Connection):
    def read_head(self):
        """(request line, [(name, value)], the head's bytes); EOFError when the peer is gone."""
        while b"\r\n\r\n" not in self.pending:
            if not self.more():
                raise EOFError
        raw, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lines = raw.decode("latin-1").split("\r\n")
        return lines[0], [tuple(line.split(": ", 1)) for line in lines[1:]], raw + b"\r\n\r\n"

    def read_body(self, headers):
        fields = {n.lower(): v for n, v in headers}
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while True:
                size = int(self._line(), 16)
                if not size:
                    while self._line():
                        pass
                    return body
                body += self.exactly(size)
                assert self._line() == b""
        return self.exactly(int(fields.get("content-length", 0)))

    def _line(self):
        while b"\r\n" not in self.pending:
            if not self.more():
                raise EOFError
        line, self.pending = self.pending.split(b"\r\n", 1)
        return line

    def read_request(self):
        line, headers, raw = self.read_head()
        body = self.read_body(headers)
        return Request(line, headers, body, raw)


class Request:
    def __init__(self, line, headers, body, raw):
        self.line, self.headers, self.body, self.raw = line, headers, body, raw
        self.method, self.target, self.version = line.split(" ")

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]


class FakeServer:
    """Listens on a free port; each connection is given to `script(connection)` in a thread of its own.

    The script ends by returning (the connection is closed) or by EOFError or a socket error, which are the peer's leaving.
    """
    kind = HttpConnection
    scheme = "http"

    def __init__(self, script):
        self.script = script
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.accepted = 0
        self.requests = []  # for scripts to note what came
        self.failures = []
        self.lock = threading.Lock()
        self.open = set()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop()
        if kind is None and self.failures:
            raise self.failures[0]

    def stop(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            for sock in self.open:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.thread.join(PATIENCE)

    def note(self, request):
        with self.lock:
            self.requests.append(request)

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.accepted += 1
                number = self.accepted
                self.open.add(sock)
            threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, sock, number):
        connection = self.kind(sock, number)
        try:
            self.script(connection)
        except (EOFError, OSError):
            pass
        except BaseException as failure:  # reported by the test when it leaves the `with`
            self.failures.append(failure)
        finally:
            with self.lock:
                self.open.discard(sock)
            sock.close()


def answering(*answers):
    """A script that gives each request of a connection the next answer (the last one for ever), bytes or callables."""
    def script(connection):
        for i in range(1 << 30):
            request = connection.read_request()
            answer = answers[min(i, len(answers) - 1)]
            connection.send(answer(request) if callable(answer) else answer)
    return script


def ok(body=b"ok", headers=""):
    body = body if isinstance(body, bytes) else body.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n" % (len(body), headers.encode()) + body


# ---- AJP/1.3, the container's side: enough to read any request and to write any answer, right or wrong.

METHODS = ("OPTIONS GET HEAD POST PUT DELETE TRACE PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK ACL REPORT VERSION-CONTROL "
           "CHECKIN CHECKOUT UNCHECKOUT SEARCH MKWORKSPACE UPDATE LABEL MERGE BASELINE-CONTROL MKACTIVITY").split()
REQUEST_HEADERS = ("accept accept-charset accept-encoding accept-language authorization connection content-type content-length "
                   "cookie cookie2 host pragma referer user-agent").split()
ATTRIBUTES = {1: "context", 2: "servlet_path", 3: "remote_user", 4: "auth_type", 5: "query_string", 6: "route", 7: "ssl_cert",
              8: "ssl_cipher", 9: "ssl_session", 11: "ssl_key_size", 12: "secret", 13: "stored_method"}


def packet(payload, magic=b"AB"):
    return magic + struct.pack(">H", len(payload)) + payload


def text(value):
    value = value if isinstance(value, bytes) else value.encode("latin-1")
    return struct.pack(">H", len(value)) + value + b"\0"


def send_headers(status=200, headers=(), reason=""):
    fields = b"".join((struct.pack(">H", n) if isinstance(n, int) else text(n)) + text(v) for n, v in headers)
    return packet(b"\x04" + struct.pack(">H", status) + text(reason) + struct.pack(">H", len(list(headers))) + fields)


def body_chunk(data, end=b"\0"):
    return packet(b"\x03" + struct.pack(">H", len(data)) + data + end)


def end_response(reuse=1):
    return packet(bytes([5, reuse]))


def get_body_chunk(count=8186):
    return packet(b"\x06" + struct.pack(">H", count))


def ajp_ok(body=b"ok", reuse=1):
    return send_headers(200, [("Content-Length", str(len(body)))]) + body_chunk(body) + end_response(reuse)


class AjpRequest:
    def __init__(self, payload):
        self.payload, self.at = payload, 1
        assert payload[0] == 2, f"no FORWARD_REQUEST: {payload[:20]!r}"
        method = self._byte()
        self.protocol, self.uri, self.remote_addr, self.remote_host, self.server_name = (self._text() for _ in range(5))
        self.server_port, self.is_ssl = self._int(), self._byte()
        self.headers = []
        for _ in range(self._int()):
            code = struct.unpack_from(">H", payload, self.at)[0]
            if code >> 8 == 0xA0:
                self.at += 2
                name = REQUEST_HEADERS[(code & 255) - 1]
            else:
                name = self._text()
            self.headers.append((name.lower(), self._text()))
        self.attributes = {}
        while (code := self._byte()) != 0xFF:
            if code == 10:
                name = self._text()
                self.attributes[name] = self._text()
            elif code == 11:
                self.attributes["ssl_key_size"] = self._int()
            else:
                self.attributes[ATTRIBUTES[code]] = self._text()
        assert self.at == len(payload), f"{len(payload) - self.at} bytes behind the request"
        self.method = self.attributes["stored_method"] if method == 0xFF else METHODS[method - 1]
        self.body = b""

    def _byte(self):
        self.at += 1
        return self.payload[self.at - 1]

    def _int(self):
        self.at += 2
        return struct.unpack_from(">H", self.payload, self.at - 2)[0]

    def _text(self):
        size = self._int()
        if size == 0xFFFF:
            return None
        assert self.payload[self.at + size] == 0, "a string without its NUL"
        self.at += size + 1
        return self.payload[self.at - size - 1:self.at - 1].decode("latin-1")

    def all(self, name):
        return [v for n, v in self.headers if n == name.lower()]


class AjpConnection(Connection):
    def read_packet(self):
        head = self.exactly(4)
        assert head[:2] == b"\x12\x34", f"wrong magic {head!r}"
        return self.exactly(struct.unpack(">H", head[2:])[0])

    def read_request(self):
        """The next request, CPings answered on the way. Its body is not read."""
        while True:
            payload = self.read_packet()
            if payload == b"\x0a":
                self.send(packet(b"\x09"))
                continue
            return AjpRequest(payload)

    def read_data(self):
        """One body packet's bytes; empty at the end of the body."""
        payload = self.read_packet()
        if not payload:
            return b""
        size = struct.unpack(">H", payload[:2])[0]
        assert size == len(payload) - 2
        return payload[2:]

    def read_body(self, request, ask=8186):
        """Reads the whole body the way Tomcat does: the first packet comes by itself when there is a length."""
        lengths = request.all("content-length")
        assert len(lengths) <= 1
        if lengths:
            total = int(lengths[0])
            if total:
                request.body = self.read_data()
            while len(request.body) < total:
                self.send(get_body_chunk(ask))
                data = self.read_data()
                assert data, "the body ended early"
                request.body += data
        else:
            while True:
                self.send(get_body_chunk(ask))
                data = self.read_data()
                if not data:
                    break
                request.body += data
        return request


class FakeAjp(FakeServer):
    kind = AjpConnection
    scheme = "ajp"


def ajp_answering(*answers):
    """Like answering(), for AJP; request bodies with a length are read first."""
    def script(connection):
        for i in range(1 << 30):
            request = connection.read_request()
            if request.all("content-length") not in ([], ["0"]):
                connection.read_body(request)
            answer = answers[min(i, len(answers) - 1)]
            connection.send(answer(request) if callable(answer) else answer)
    return script


def refused_port():
    """A port on which nobody listens (it was free a moment ago)."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]
