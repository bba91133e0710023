"""PROXY headers in tests: made as a proxy would, and read as a server would (HAProxy's proxy-protocol.txt)."""
import socket
import struct

from fakes import FakeServer, ok

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
ALPN, AUTHORITY, CRC32C, UNIQUE_ID, SSL = 1, 2, 3, 5, 0x20
SSL_VERSION, SSL_CN, SSL_CIPHER = 0x21, 0x22, 0x23


def v1(source="192.0.2.7", destination="198.51.100.1", source_port=4711, port=443):
    kind = "TCP6" if ":" in source else "TCP4"
    return f"PROXY {kind} {source} {destination} {source_port} {port}\r\n".encode()


def field(kind, value):
    return struct.pack(">BH", kind, len(value)) + value


def v2(source="192.0.2.7", destination="198.51.100.1", source_port=4711, port=443, fields=b"", command=1):
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    ends = socket.inet_pton(family, source) + socket.inet_pton(family, destination) + struct.pack(">HH", source_port, port)
    return SIGNATURE + struct.pack(">BBH", 0x20 | command, 0x21 if ":" in source else 0x11, len(ends + fields)) + ends + fields


def local():
    return SIGNATURE + b"\x20\0\0\0"


def tls_field(version=b"TLSv1.3", client=1, verify=0, more=b""):
    return field(SSL, struct.pack(">BI", client, verify) + field(SSL_VERSION, version) + more)


class Header:
    """What a server reads: `version`, `local`, `source` and `destination` as (address, port) or None, `fields`."""

    def __init__(self, connection):
        self.fields, self.source, self.destination, self.local = {}, None, None, False
        start = connection.exactly(12)
        if start == SIGNATURE:
            self.version = 2
            self._read_v2(connection)
        else:
            assert start.startswith(b"PROXY "), start
            self.version = 1
            self._read_v1(start, connection)

    def _read_v1(self, line, connection):
        while not line.endswith(b"\r\n"):
            line += connection.exactly(1)
            assert len(line) <= 107
        self.raw = line
        words = line.decode().rstrip("\r\n").split(" ")
        if words[1] != "UNKNOWN":
            self.source, self.destination = (words[2], int(words[4])), (words[3], int(words[5]))

    def _read_v2(self, connection):
        command, family, size = struct.unpack(">BBH", connection.exactly(4))
        rest = connection.exactly(size)
        assert command >> 4 == 2
        self.local, self.family = command & 15 == 0, family
        width = {0: 0, 0x11: 4, 0x21: 16}[family]
        if width:
            kind = socket.AF_INET if width == 4 else socket.AF_INET6
            source_port, port = struct.unpack(">HH", rest[2 * width:2 * width + 4])
            self.source = socket.inet_ntop(kind, rest[:width]), source_port
            self.destination = socket.inet_ntop(kind, rest[width:2 * width]), port
            rest = rest[2 * width + 4:]
        self.fields = dict(self._fields(rest))
        if SSL in self.fields:
            ssl = self.fields[SSL]
            self.client, self.verify = struct.unpack(">BI", ssl[:5])
            self.ssl = dict(self._fields(ssl[5:]))

    @staticmethod
    def _fields(rest):
        while rest:
            kind, size = struct.unpack(">BH", rest[:3])
            assert len(rest) >= 3 + size
            yield kind, rest[3:3 + size]
            rest = rest[3 + size:]


class ProxiedServer(FakeServer):
    """Reads a PROXY header at the beginning of each connection (`headers`, in the order they came), then answers requests."""

    def __init__(self, wrap=None):
        self.headers = []

        def script(connection):
            header = Header(connection)
            with self.lock:
                self.headers.append(header)
            if wrap:
                assert not connection.pending or connection.pending[0] == 22  # the client waits for our answer to its hello
                connection = wrap(connection)
            while True:
                request = connection.read_request()
                self.note(request)
                connection.send(ok(f"{connection.number} {request.target}"))
        super().__init__(script)


