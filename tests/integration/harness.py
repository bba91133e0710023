"""Starts the gateway and the reference application server on ports of the kernel's choice, and stops them without a trace.

Nothing here sleeps to wait for something: processes say when they are ready, everything else is polled with a deadline.
"""
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("PONTAGE_BIN", "build/release/pontage"))
if not BINARY.is_absolute():
    BINARY = ROOT / BINARY
SANITIZED = any(word in str(BINARY) for word in ("asan", "tsan"))
SCALE = 5 if SANITIZED else 1  # sanitizers are slow: patience grows, amounts of work shrink
LONG = bool(os.environ.get("PONTAGE_LONG"))
PATIENCE = 20 * SCALE  # seconds; more than anything here takes


def amount(normal, long=None):
    """How many times a test repeats something."""
    if SANITIZED:
        return max(1, normal // 10)
    return long if LONG and long else normal


def eventually(condition, what="condition", seconds=PATIENCE):
    """Polls until `condition()` is true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}; last: {value!r}"
        select.select([], [], [], 0.01)


class Process:
    """A verb of pontage that runs until it is stopped. `lines` is what it wrote to its ready descriptor."""

    def __init__(self, args, log, prefix=(), env=None):
        read, write = os.pipe()
        self.log = log
        self.args = [str(a) for a in args]
        with open(log, "wb") as out:
            self.process = subprocess.Popen([*prefix, str(BINARY), *self.args, "--ready-fd", str(write)], pass_fds=[write],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env={**os.environ, **(env or {})})
        os.close(write)
        self.lines = []
        try:
            self.lines = self._read_ready(read)
        finally:
            os.close(read)
            if not self.lines:
                self.process.kill()
                self.process.wait()

    def _complete(self, text):
        return "ready\n" in text

    def _read_ready(self, read):
        text, end = "", time.monotonic() + PATIENCE
        while not (text and self._complete(text)):
            if not select.select([read], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"{self.args} is not ready: {self.output()}")
            got = os.read(read, 65536).decode()
            if not got:
                break
            text += got
        if not text:
            raise AssertionError(f"{self.args} ended: {self.output()}")
        return text.splitlines()

    @property
    def pid(self):
        return self.process.pid

    def output(self):
        return Path(self.log).read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def alive(self):
        return self.process.poll() is None

    def wait(self, seconds=PATIENCE):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.args} does not end: {self.output()[-3000:]}") from None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, check=True):
        """Ends it; its exit code must be 0, which under a sanitizer also says that nothing leaked."""
        if self.alive():
            # Idle connections of a test that is over need no patience: the second signal ends what is left.
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(2 * SCALE)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGTERM)
        code = self.wait()
        assert not check or code == 0, f"{self.args} ended with {code}: {self.output()[-6000:]}"

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def file_descriptors(self):
        """Descriptors that are no sockets: those of clients that left close when the worker gets to them, and are no leak."""
        def is_socket(number):
            try:
                return os.readlink(f"/proc/{self.pid}/fd/{number}").startswith("socket:")
            except FileNotFoundError:
                return True
        return sum(not is_socket(number) for number in os.listdir(f"/proc/{self.pid}/fd"))


# What the origin speaks; and the backends in front of it, by the name of their route: "kept" is FastCGI with keep_alive.
PROTOCOLS = ["http", "ajp", "fastcgi", "scgi", "uwsgi"]
ADAPTERS = PROTOCOLS + ["kept"]


def backend_to(origin, adapter, **options):
    scheme = "fastcgi" if adapter == "kept" else adapter
    kept = {"keep_alive": True} if adapter == "kept" else {}
    return {"servers": [{"url": f"{scheme}://{getattr(origin, scheme)}", "name": "a"}], **kept, **options}


class Origin(Process):
    """`pontage origin`; `http`, `ajp`, `fastcgi`, `scgi` and `uwsgi` are "host:port"."""

    def __init__(self, folder, route="a", secret=None, packet_size=None, name="origin", **addresses):
        self.route = route
        args = ["origin", "--route", route]
        for protocol in PROTOCOLS:
            args += [f"--{protocol}", addresses.get(protocol, "127.0.0.1:0")]
        if secret:
            args += ["--secret", secret]
        if packet_size:
            args += ["--packet-size", packet_size]
        super().__init__(args, Path(folder) / f"{name}.log")
        bound = dict(line.split()[1:] for line in self.lines)
        self.http, self.ajp, self.fastcgi, self.scgi, self.uwsgi = (bound[protocol] for protocol in PROTOCOLS)

    def _complete(self, text):
        return text.endswith("\n") and text.count("\n") == len(PROTOCOLS)


def to_yaml(value):
    """JSON is YAML; keys and texts come out quoted, numbers and booleans plain."""
    return json.dumps(value, indent=1)


class Gateway(Process):
    """`pontage run` with a configuration given as a dict (or as text). One listener on a free port unless told otherwise."""

    def __init__(self, folder, config, prefix=(), env=None, name="gateway"):
        self.file = Path(folder) / f"{name}.yaml"
        self.write(config)
        super().__init__(["run", "-c", self.file], Path(folder) / f"{name}.log", prefix, env)
        self.read_addresses()

    def _complete(self, text):
        return "\nadmin " in text and text.endswith("\n")

    def write(self, config):
        if isinstance(config, dict):
            config = {"workers": 2, "listeners": ["127.0.0.1:0"], "admin": "127.0.0.1:0", **config}
            config = to_yaml({k: v for k, v in config.items() if v is not None})
        self.file.write_text(config)

    def read_addresses(self):
        listeners = [line.rsplit(" ", 1)[1] for line in self.lines if line.startswith("listener ")]
        self.addresses = [split_address(a) for a in listeners if not a.startswith("unix:")]
        self.address = self.addresses[0] if self.addresses else None
        self.admin = next((split_address(line.split()[1]) for line in self.lines if line.startswith("admin ")), None)

    def connect(self, **options):
        return Client(self.address, **options)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def request(self, method, path, **options):
        """One request on a connection of its own."""
        with self.connect() as client:
            return client.request(method, path, **options)

    def admin_get(self, path):
        connection = http.client.HTTPConnection(*self.admin, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metrics(self):
        status, text = self.admin_get("/metrics")
        assert status == 200
        return Metrics(text)

    def counts(self, value, name, **labels):
        """Waits until the metric has the value: counters move when an exchange has ended, a little after its last byte."""
        def right():
            return self.metrics().sum(name, **labels) == value
        eventually(right, f"{name}{labels} to be {value}, not {self.metrics().sum(name, **labels)}", PATIENCE / 4)

    def reload(self, config=None, good=True):
        """Reloads by SIGHUP and waits until it has happened."""
        if config is not None:
            self.write(config)
        result = "ok" if good else "failed"
        counted = lambda: self.metrics().sum("pontage_config_reloads_total", result=result)
        before = counted()
        self.signal(signal.SIGHUP)
        eventually(lambda: counted() > before, f"a reload counted as {result}")


def proxy_to(*servers, **backend):
    """A configuration that sends everything to these servers (URLs or maps)."""
    return {"backends": {"app": {"servers": list(servers), **backend}}, "routes": [{"name": "all", "proxy": "app"}]}


def split_address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


class Metrics:
    """A scrape: samples as {(name, frozenset of label pairs): value}."""

    def __init__(self, text):
        self.text = text
        self.samples = {}
        for line in text.splitlines():
            match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)(?: \d+)?", line)
            if not line.startswith("#") and match:
                labels = frozenset(re.findall(r'(\w+)="((?:\\.|[^"\\])*)"', match[2] or ""))
                self.samples[match[1], labels] = float(match[3])

    def sum(self, name, **labels):
        wanted = set(labels.items())
        return sum(v for (n, have), v in self.samples.items() if n == name and wanted <= have)

    def names(self):
        return {n for n, _ in self.samples}


class Response:
    def __init__(self, version, status, reason, headers):
        self.version, self.status, self.reason, self.headers = version, status, reason, headers
        self.body = b""
        self.interim = []
        self.raw = b""
        self.trailers = []
        self.truncated = False  # the connection ended before the body did

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def header(self, name):
        values = self.all(name)
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.headers} {len(self.body)} bytes{' truncated' if self.truncated else ''}>"


class Client:
    """A raw HTTP/1.1 client: it sends what the test says, byte by byte, and is strict about what comes back."""

    def __init__(self, address, timeout=PATIENCE / 2, receive_buffer=None):
        if receive_buffer:
            self.socket = socket.socket(socket.AF_INET)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def send_what_fits(self, data):
        """Sends until all is out or the peer has closed; for uploads that are answered early."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def finish_sending(self):
        self.socket.shutdown(socket.SHUT_WR)

    def request(self, method, path, headers=(), body=None, chunked=False, host="test.example", version="1.1"):
        head = f"{method} {path} HTTP/{version}\r\nHost: {host}\r\n"
        head += "".join(f"{n}: {v}\r\n" for n, v in (headers.items() if isinstance(headers, dict) else headers))
        data = b""
        if body is not None:
            body = body if isinstance(body, bytes) else body.encode()
            if chunked:
                head += "Transfer-Encoding: chunked\r\n"
                step = 10_000
                pieces = [body[i:i + step] for i in range(0, len(body), step)]
                data = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
            else:
                head += f"Content-Length: {len(body)}\r\n"
                data = body
        payload = head.encode("latin-1") + b"\r\n" + data
        if len(payload) < 60_000:
            self.send(payload)
            return self.read_response(method)
        # A server may answer while it is still being sent to: send from a thread, so that neither waits for the other.
        sender = threading.Thread(target=self.send_what_fits, args=(payload,), daemon=True)
        sender.start()
        response = self.read_response(method)
        sender.join(PATIENCE)
        return response

    def _more(self):
        got = self.socket.recv(65536)
        self.pending += got
        return bool(got)

    def _line(self):
        while b"\r\n" not in self.pending:
            if not self._more():
                raise EOFError(f"connection ended in a line: {self.pending[:200]!r}")
        line, self.pending = self.pending.split(b"\r\n", 1)
        assert b"\n" not in line and b"\r" not in line, f"a bare CR or LF: {line!r}"
        return line.decode("latin-1")

    def read_head(self):
        line = self._line()
        match = re.fullmatch(r"HTTP/(1\.[01]) (\d{3}) ([\x20-\x7e]*)", line)
        assert match, f"no status line: {line!r}"
        headers = []
        while line := self._line():
            name, colon, value = line.partition(":")
            assert colon and re.fullmatch(r"[!#$%&'*+.^_`|~\w-]+", name, re.A), f"no field: {line!r}"
            headers.append((name, value.strip(" \t")))
        return Response(match[1], int(match[2]), match[3], headers)

    def read_response(self, method="GET"):
        interim = []
        while True:
            response = self.read_head()
            if response.status >= 200 or response.status == 101:
                break
            interim.append(response)
        response.interim = interim
        lengths, codings = response.all("Content-Length"), response.all("Transfer-Encoding")
        assert len(lengths) <= 1 and not (lengths and codings), f"ambiguous framing: {response.headers}"
        if response.status in (204, 304) or 100 <= response.status < 200:
            assert not codings, "a response without a body has a transfer coding"
            return response
        if method == "HEAD":
            return response
        try:
            if codings:
                assert codings == ["chunked"], codings
                self._read_chunked(response)
            elif lengths:
                assert re.fullmatch(r"\d+", lengths[0]), lengths
                response.body = self.read_exactly(int(lengths[0]), response)
            else:
                while self._more():
                    pass
                response.body, self.pending = self.pending, b""
        except (EOFError, ConnectionResetError):
            response.truncated = True
        return response

    def read_exactly(self, count, response=None):
        parts, have = [self.pending], len(self.pending)
        while have < count:
            try:
                got = self.socket.recv(min(1 << 20, count - have))
            except ConnectionResetError:
                got = b""
            if not got:
                if response is not None:
                    response.body, self.pending = b"".join(parts), b""
                    response.truncated = True
                    return response.body
                raise EOFError(f"{have} of {count} bytes")
            parts.append(got)
            have += len(got)
        data = b"".join(parts)
        data, self.pending = data[:count], data[count:]
        return data

    def _read_chunked(self, response):
        parts = []
        try:
            while True:
                size = self._line()
                assert re.fullmatch(r"[0-9a-fA-F]+", size), f"chunk size {size!r}"
                if int(size, 16) == 0:
                    break
                parts.append(self.read_exactly(int(size, 16)))
                assert self._line() == ""
            while line := self._line():
                name, _, value = line.partition(":")
                response.trailers.append((name, value.strip()))
        finally:
            response.body = b"".join(parts)

    def closed(self):
        """True when the gateway closes the connection without another byte; False when it sends something instead."""
        if self.pending:
            return False
        try:
            return self.socket.recv(1) == b""
        except (ConnectionResetError, BrokenPipeError):
            return True

    def silent(self, seconds=0.2):
        """True when nothing comes for a while: for promises that something does not happen."""
        return not self.pending and not select.select([self.socket], [], [], seconds)[0]


def exchange_raw(gateway, data):
    """Sends bytes on a new connection; returns (response, whether the gateway closed afterwards)."""
    with gateway.connect() as client:
        client.send(data)
        response = client.read_response()
        return response, client.closed()


def run_cli(*args, **options):
    return subprocess.run([str(BINARY), *map(str, args)], capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, **options)


def in_parallel(count, work):
    """Runs work(0) ... work(count-1) at the same time; their results in order; the first failure is raised."""
    results, failures = [None] * count, []

    def one(i):
        try:
            results[i] = work(i)
        except BaseException as failure:  # reported by the test's own thread
            failures.append(failure)

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for t in threads:
        t.start()
    end = time.monotonic() + 3 * PATIENCE
    for t in threads:
        t.join(max(0.0, end - time.monotonic()))
        assert not t.is_alive(), "a thread does not end"
    if failures:
        raise failures[0]
    return results
