"""Two HTTP/2 clients: one by python3-h2, which judges all that comes back; one of raw frames, which sends what it likes."""
import socket
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import hpack
from hyperframe import frame as frames

from harness import PATIENCE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HOST = "test.example"

NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR = 0, 1, 3, 5, 6
REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 7, 8, 9, 11


def head(method="GET", path="/", fields=(), scheme="http", host=HOST):
    """A request's fields; one that is None is left out."""
    pseudo = [(":method", method), (":scheme", scheme), (":authority", host), (":path", path)]
    return [(n, v) for n, v in pseudo if v is not None] + list(fields)


class Answer:
    def __init__(self):
        self.status, self.headers, self.body, self.trailers, self.interim = None, [], b"", [], []
        self.reset = None  # the code of RST_STREAM
        self.ended = False

    def header(self, name):
        return next((v for n, v in self.headers if n == name), None)

    def all(self, name):
        return [v for n, v in self.headers if n == name]

    @property
    def done(self):
        return self.ended or self.reset is not None

    def __repr__(self):
        return f"<{self.status} {self.headers} {len(self.body)} bytes ended={self.ended} reset={self.reset}>"


def _split(fields):
    text = lambda t: t.decode("latin-1") if isinstance(t, bytes) else t
    fields = [(text(n), text(v)) for n, v in fields]
    status = next((int(v) for n, v in fields if n == ":status"), None)
    return status, [f for f in fields if f[0] != ":status"]


class _Socket:
    def __init__(self, address, tls=None, name=HOST, receive_buffer=None, timeout=PATIENCE / 2):
        self.socket = socket.socket(socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=name)
            assert self.socket.selected_alpn_protocol() == "h2"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def recv(self):
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""


class H2Client(_Socket):
    """One connection. Bodies are acknowledged as they arrive unless `credit` is False."""

    def __init__(self, gateway, credit=True, settings=None, **options):
        super().__init__(getattr(gateway, "address", gateway), **options)
        self.credit = credit
        self.answers, self.order, self.goaway, self.ended = {}, [], None, False
        self.pongs = 0
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding=None))
        code = h2.settings.SettingCodes
        first = {code.ENABLE_PUSH: 0, code.INITIAL_WINDOW_SIZE: 65_535, code.MAX_HEADER_LIST_SIZE: 1 << 20, **(settings or {})}
        self.h2.local_settings = h2.settings.Settings(client=True, initial_values=first)
        self.pending = b""
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.socket.sendall(data)

    def begin(self, method="GET", path="/", fields=(), end=True, **options):
        stream = self.h2.get_next_available_stream_id()
        self.answers[stream] = Answer()
        self.h2.send_headers(stream, head(method, path, fields, **options), end_stream=end)
        self.flush()
        return stream

    def send(self, stream, data, end=False):
        """Sends as the server's windows open; stops when it has reset the stream or ended its answer."""
        view = memoryview(data)
        while view and not self.answers[stream].done:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room <= 0:
                self.step()
                continue
            self.h2.send_data(stream, view[:room].tobytes(), end_stream=end and len(view) <= room)
            view = view[room:]
            self.flush()
        if end and not len(data) and not self.answers[stream].done:
            self.h2.end_stream(stream)
            self.flush()

    def give(self, count, stream=None):
        """Opens the window of a stream, or the connection's."""
        self.h2.increment_flow_control_window(count, stream)
        self.flush()

    def step(self):
        """Takes in what the next read brings."""
        data = self.recv()
        if not data:
            self.ended = True
            raise EOFError("the gateway closed the connection")
        for event in self.h2.receive_data(self._without_goaway(data)):
            self._note(event)
        self.flush()

    def _without_goaway(self, data):
        """Whole frames but for GOAWAY, after which the library takes nothing more; streams go on, however (RFC 9113 6.8)."""
        self.pending += data
        kept = b""
        while len(self.pending) >= 9 and len(self.pending) >= 9 + int.from_bytes(self.pending[:3], "big"):
            end = 9 + int.from_bytes(self.pending[:3], "big")
            frame, self.pending = self.pending[:end], self.pending[end:]
            if frame[3] == 7:
                self.goaway = int.from_bytes(frame[13:17], "big")
            else:
                kept += frame
        return kept

    def _note(self, event):
        answer = self.answers.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.ResponseReceived):
            answer.status, answer.headers = _split(event.headers)
        elif isinstance(event, h2.events.InformationalResponseReceived):
            answer.interim.append(_split(event.headers))
        elif isinstance(event, h2.events.TrailersReceived):
            answer.trailers = _split(event.headers)[1]
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            self.order.append(event.stream_id)
            if self.credit and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            answer.ended = True
        elif isinstance(event, h2.events.StreamReset):
            answer.reset = int(event.error_code)
        elif isinstance(event, h2.events.PingAckReceived):
            self.pongs += 1

    def until(self, condition):
        while not condition():
            self.step()

    def wait(self, *streams):
        self.until(lambda: all(self.answers[s].done for s in streams))
        return self.answers[streams[0]] if len(streams) == 1 else [self.answers[s] for s in streams]

    def request(self, method="GET", path="/", fields=(), body=None, **options):
        stream = self.begin(method, path, fields, end=body is None, **options)
        if body is not None:
            self.send(stream, body, end=True)
        return self.wait(stream)

    def ping(self):
        """A round trip: what the gateway had sent before is here."""
        before = self.pongs
        self.h2.ping(b"pontage!")
        self.flush()
        self.until(lambda: self.pongs > before)

    def closed(self):
        """Whether the gateway ends the connection; what still comes until then is taken in."""
        try:
            while True:
                self.step()
        except EOFError:
            return True


class Frames(_Socket):
    """Sends any frame, and collects the frames that come back."""

    def __init__(self, gateway, start=True, settings=None, **options):
        super().__init__(getattr(gateway, "address", gateway), **options)
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.pending, self.got, self.ended = b"", [], False
        if start:
            self.raw(PREFACE)
            self.send(frames.SettingsFrame(0, settings=settings or {}))

    def raw(self, data):
        """False when the gateway has gone meanwhile."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def send(self, *some):
        return self.raw(b"".join(f.serialize() for f in some))

    def block(self, fields):
        return self.encoder.encode(fields)

    def headers(self, stream, fields, *flags):
        data = fields if isinstance(fields, bytes) else self.block(fields)
        return frames.HeadersFrame(stream, data=data, flags=flags or ["END_HEADERS", "END_STREAM"])

    def request(self, stream=1, *flags, **options):
        self.send(self.headers(stream, head(**options), *flags))

    def frame(self):
        """The next frame; None at the end of the connection."""
        while True:
            if len(self.pending) >= 9:
                frame, length = frames.Frame.parse_frame_header(memoryview(self.pending[:9]))
                if len(self.pending) >= 9 + length:
                    frame.parse_body(memoryview(self.pending[9:9 + length]))
                    self.pending = self.pending[9 + length:]
                    if isinstance(frame, frames.HeadersFrame):
                        frame.fields = self.decoder.decode(frame.data)
                    self.got.append(frame)
                    return frame
            data = self.recv()
            if not data:
                self.ended = True
                return None
            self.pending += data

    def until(self, kind, stream=None):
        """The next frame of this kind (of this stream); None when the connection ended before."""
        while (frame := self.frame()) is not None:
            if isinstance(frame, kind) and stream in (None, frame.stream_id):
                return frame
        return None

    def goaway(self):
        """The code of the GOAWAY that ends the connection; and it must end."""
        code = None
        while (frame := self.frame()) is not None:
            if isinstance(frame, frames.GoAwayFrame):
                code = frame.error_code
        return code

    def outcome(self, stream=1):
        """What became of a stream: its status, ("reset", code) or ("goaway", code)."""
        while (frame := self.frame()) is not None:
            if isinstance(frame, frames.GoAwayFrame):
                return "goaway", frame.error_code
            if frame.stream_id != stream:
                continue
            if isinstance(frame, frames.RstStreamFrame):
                return "reset", frame.error_code
            if isinstance(frame, frames.HeadersFrame):
                status = int(dict(frame.fields)[":status"])
                if status >= 200:
                    return status
        return "ended", None

    def alive(self):
        """Whether the connection still answers a PING."""
        self.send(frames.PingFrame(0, opaque_data=b"alive?!?"))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            frame = self.until(frames.PingFrame)
            if frame is None:
                return False
            if frame.opaque_data == b"alive?!?" and "ACK" in frame.flags:
                return True
        return False
