"""What an HTTP/2 client may not do for long: floods, stalls, slow reading; and how a connection ends in good order."""
import json
import signal
import time

import h2.settings
import pytest

from conftest import SITE
from fakes import FakeServer, answering, ok
from h2client import (CANCEL, ENHANCE_YOUR_CALM, NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM, Frames, H2Client, frames, head)
from harness import PATIENCE, SCALE, amount, eventually, in_parallel, proxy_to
from test_bodies import pattern

pytestmark = pytest.mark.smoke


@pytest.fixture
def front(start, origin, site):
    return start({"backends": {"app": {"servers": [f"http://{origin.http}"]}},
                  "routes": [{"path": "/app/*", "proxy": "app"}, {"files": str(site)}]})


# ---- floods

def block_of(client, *fields):
    return client.block(head(fields=fields))


def resets(client):
    for stream in range(1, 4001, 2):
        yield client.headers(stream, head(path="/app/stream?n=100&ms=100"))
        yield frames.RstStreamFrame(stream, error_code=CANCEL)


def malformed(client):
    """Requests that make the gateway reset streams cost as much as resets by the client."""
    for stream in range(1, 4001, 2):
        yield client.headers(stream, head(fields=[("connection", "x")]))


def bad_updates(client):
    """The same by window updates of 0 (the "made you reset" flood)."""
    for stream in range(1, 4001, 2):
        yield client.headers(stream, head(path="/app/stream?n=100&ms=100"))
        yield frames.WindowUpdateFrame(stream, window_increment=1 << 30)
        yield frames.WindowUpdateFrame(stream, window_increment=1 << 30)


def continuations(client):
    yield frames.HeadersFrame(1, data=block_of(client), flags=["END_STREAM"])
    for i in range(100):
        yield frames.ContinuationFrame(1, data=client.block([(f"x-{i}", "1")]))


def empty_continuations(client):
    yield frames.HeadersFrame(1, data=block_of(client), flags=["END_STREAM"])
    for _ in range(1000):
        yield frames.ContinuationFrame(1, data=b"")


def settings(client):
    for _ in range(1000):
        yield frames.SettingsFrame(0, settings={4: 65535})


def pings(client):
    for _ in range(1000):
        yield frames.PingFrame(0, opaque_data=b"12345678")


def empty_data(client):
    yield client.headers(1, head("POST", "/app/echo"), "END_HEADERS")
    for _ in range(1000):
        yield frames.DataFrame(1, data=b"")


def priorities(client):
    for _ in range(4000):
        yield frames.PriorityFrame(1, depends_on=3, stream_weight=1, exclusive=False)


def updates(client):
    for _ in range(20_000):
        yield frames.WindowUpdateFrame(0, window_increment=1)


def bomb(client):
    """A field of 4000 bytes put into the table once, then named by one byte each (RFC 7541 7.3)."""
    entry = b"\x40\x03x-a" + b"\x7f\xa1\x1e" + b"a" * 4000
    yield frames.HeadersFrame(1, data=block_of(client)[:0] + head_block() + entry + b"\xbe" * 10_000, flags=["END_HEADERS", "END_STREAM"])


def head_block():
    return b"\x82\x86\x84\x41\x01a"


FLOODS = {resets: "h2_resets", malformed: "h2_resets", bad_updates: "h2_resets", continuations: "h2_continuations",
          empty_continuations: "h2_continuations", settings: "h2_settings", pings: "h2_pings", empty_data: "h2_empty_frames",
          priorities: "h2_priorities", updates: "h2_window_updates", bomb: "h2_header_fields"}


@pytest.mark.parametrize("flood", FLOODS, ids=lambda f: f.__name__)
def test_a_flood_ends_its_connection_and_no_other(front, flood):
    with H2Client(front) as other, Frames(front) as client:
        assert other.request(path="/ten.txt").status == 200
        before = time.monotonic()
        client.raw(b"".join(f.serialize() for f in flood(client)))
        assert client.goaway() == ENHANCE_YOUR_CALM
        assert time.monotonic() - before < PATIENCE / 2
        front.counts(1, "pontage_limit_hits_total", limit=FLOODS[flood])
        assert other.request(path="/ten.txt").status == 200 and other.request(path="/app/info").status == 200
        front.counts(1, "pontage_connections", protocol="h2")
        front.counts(0, "pontage_h2_streams")
        front.counts(0, "pontage_requests_in_flight")
        front.counts(0, "pontage_backend_server_in_flight")


def test_a_client_that_pings_and_never_reads_costs_little(front):
    with Frames(front, receive_buffer=4096) as client, H2Client(front) as other:
        client.socket.settimeout(1)
        ping = frames.PingFrame(0, opaque_data=b"12345678").serialize() * 1000
        try:
            while client.raw(ping):
                pass
        except TimeoutError:
            pass
        assert other.request(path="/ten.txt").status == 200
        eventually(lambda: front.metrics().sum("pontage_limit_hits_total", limit="h2_pings") == 1, "the flood is counted")


def test_honest_clients_of_many_small_frames_are_served(front):
    """What browsers and gRPC do is no flood: a ping now and then, updates for each frame, a burst of cancelled images."""
    with H2Client(front, settings={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1000}) as client:
        assert client.request(path="/app/bytes/500000").status == 200
        for _ in range(20):
            client.ping()
    with Frames(front) as client:
        for stream in range(1, 201, 2):
            client.send(client.headers(stream, head(path="/app/stream?n=100&ms=100")), frames.RstStreamFrame(stream, error_code=CANCEL))
        client.request(201, path="/ten.txt")
        assert client.outcome(201) == 200


def test_streams_beyond_the_limit_are_refused(start, origin):
    gateway = start({**proxy_to(f"http://{origin.http}"), "limits": {"streams": 10}})
    with Frames(gateway) as client:
        settings = client.until(frames.SettingsFrame)
        assert settings.settings[3] == 10
        for stream in range(1, 2 * 12, 2):
            client.request(stream, path="/token?token=x&ms=300")
        refused = [client.until(frames.RstStreamFrame) for _ in range(2)]
        assert [(f.stream_id, f.error_code) for f in refused] == [(21, REFUSED_STREAM), (23, REFUSED_STREAM)]
        assert client.outcome(1) == 200
        assert client.alive()
    with Frames(gateway) as client:  # who has said that it knows the limit gets no second chance
        client.until(frames.SettingsFrame)
        client.send(frames.SettingsFrame(0, flags=["ACK"]))
        for stream in range(1, 2 * 12, 2):
            client.request(stream, path="/token?token=x&ms=300")
        assert client.goaway() in (PROTOCOL_ERROR, REFUSED_STREAM)


# ---- deadlines

def patient(origin, **client):
    return {**proxy_to(f"http://{origin.http}"), "client": client}


def test_a_connection_without_a_request_meets_a_deadline(start, origin):
    gateway = start(patient(origin, head="200ms", keep_alive="200ms"))
    for begin in (b"", b"PRI * HT", None):
        with Frames(gateway, start=begin is None) as client:
            client.raw(begin or b"")
            while client.recv():
                pass
    with H2Client(gateway) as client:
        assert client.request(path="/info").status == 200
        client.ping()
        assert client.closed() and client.goaway == NO_ERROR


def test_a_head_that_does_not_end_meets_a_deadline(start, origin):
    gateway = start(patient(origin, head="200ms"))
    for flags, cut in ((["END_STREAM"], None), (["END_STREAM", "END_HEADERS"], -1)):
        with Frames(gateway) as client:
            client.raw(frames.HeadersFrame(1, data=client.block(head()), flags=flags).serialize()[:cut])
            assert client.goaway() is not None


def test_a_body_that_does_not_come_meets_a_deadline(start, origin):
    gateway = start(patient(origin, body_idle="200ms"))
    with H2Client(gateway) as client:
        stream = client.begin("POST", "/echo", [("content-length", "10")], end=False)
        client.send(stream, b"x")
        answer = client.wait(stream)
        assert answer.status == 408 or answer.reset is not None
        assert client.request(path="/info").status == 200


def test_a_client_that_opens_no_window_loses_its_stream_alone(start, site):
    gateway = start({"routes": [{"files": str(site)}], "client": {"send_idle": "300ms"}})
    with H2Client(gateway, credit=False) as client:
        stalled = client.begin(path="/3m.bin")
        client.until(lambda: len(client.answers[stalled].body) == 65_535)  # the connection's window is used up
        assert client.wait(stalled).reset == CANCEL
        client.give(1 << 20)
        assert client.request(path="/ten.txt").body == b"0123456789"
        gateway.counts(0, "pontage_h2_streams")


def test_a_client_that_reads_nothing_is_cut_off(start, site):
    gateway = start({"routes": [{"files": str(site)}], "client": {"send_idle": "300ms"}})
    window = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: (1 << 31) - 1}
    with H2Client(gateway, settings=window, receive_buffer=4096) as client:
        client.give((1 << 30))
        for _ in range(10):
            client.begin(path="/3m.bin")
        gateway.counts(0, "pontage_connections", protocol="h2")
        gateway.counts(0, "pontage_h2_streams")


# ---- flow control

def test_a_slow_stream_holds_up_no_other(front):
    window = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 10_000}
    with H2Client(front, credit=False, settings=window) as client:
        client.give(1 << 24)
        slow = [client.begin(path="/3m.bin"), client.begin(path="/app/bytes/1000000")]
        client.until(lambda: all(len(client.answers[s].body) == 10_000 for s in slow))
        for _ in range(20):
            assert client.request(path="/3k.bin").body == SITE["3k.bin"]
        assert all(len(client.answers[s].body) == 10_000 for s in slow)
        for stream in slow:
            client.give(1 << 24, stream)
        assert [len(a.body) for a in client.wait(*slow)] == [3 << 20, 1_000_000]


def test_a_stalled_upload_holds_up_no_other(start):
    """The server behind takes nothing of one body; the others of the connection go on."""
    def script(connection):
        _, headers, _ = connection.read_head()
        if dict(headers).get("X-Stall") or dict(headers).get("x-stall"):
            connection.ended()
            return
        connection.read_body(headers)
        connection.send(ok(b"done", "Connection: close\r\n"))

    with FakeServer(script) as server:
        gateway = start(proxy_to(server.url))
        with Frames(gateway) as client:
            body = b"x" * 16_384
            client.send(client.headers(1, head("POST", fields=[("x-stall", "1"), ("content-length", str(8 << 20))]), "END_HEADERS"))
            for _ in range(3):
                client.send(frames.DataFrame(1, data=body))
            for stream in (3, 5, 7):
                client.send(client.headers(stream, head("POST"), "END_HEADERS"), frames.DataFrame(stream, data=b"y", flags=["END_STREAM"]))
                assert client.outcome(stream) == 200
            client.send(frames.RstStreamFrame(1, error_code=CANCEL))
            gateway.counts(0, "pontage_h2_streams")


def test_a_client_must_keep_to_the_windows(front):
    with Frames(front) as client:
        client.send(client.headers(1, head("POST", "/app/token?ms=5000"), "END_HEADERS"))
        for _ in range(200):
            if not client.send(frames.DataFrame(1, data=b"x" * 16_384)):
                break
        kind, code = client.outcome()
        assert (kind, code) in (("reset", 3), ("goaway", 3))  # FLOW_CONTROL_ERROR


def test_memory_for_bodies_is_bounded(start, origin):
    """More streams than the gateway keeps whole bodies for: all arrive, because windows open as the server takes them."""
    gateway = start({**proxy_to(f"http://{origin.http}"), "limits": {"stream_buffer": "16KiB"}})
    body = pattern(300_000)
    with H2Client(gateway) as client:
        for _ in range(2):
            streams = [client.begin("POST", "/upload", end=False) for _ in range(20)]
            for stream in streams:
                client.send(stream, body, end=True)
            assert [json.loads(a.body)["bytes"] for a in client.wait(*streams)] == [len(body)] * 20


def test_small_windows_do_not_slow_others_down(front):
    count = amount(100)
    window = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1}
    with H2Client(front, credit=False, settings=window) as crumbs, H2Client(front) as other:
        streams = [crumbs.begin(path="/100k.bin") for _ in range(count)]
        crumbs.until(lambda: all(len(crumbs.answers[s].body) == 1 for s in streams))
        times = []
        for _ in range(amount(200)):
            for stream in streams[:10]:
                crumbs.h2.increment_flow_control_window(1, stream)
            crumbs.flush()
            begin = time.monotonic()
            assert other.request(path="/3k.bin").status == 200
            times.append(time.monotonic() - begin)
        assert sorted(times)[int(len(times) * 0.99)] < 0.2 * SCALE


# ---- RFC 9218

def orders(front, first, second, update=None):
    """Two large files over a connection whose window is empty; then it opens: in which order their frames come."""
    with H2Client(front, credit=False, settings={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1 << 24}) as client:
        filler = client.begin(path="/100k.bin")
        client.until(lambda: len(client.answers[filler].body) == 65_535)
        a = client.begin(path="/100k.bin", fields=[("priority", first)])
        b = client.begin(path="/100k.bin", fields=[("priority", second)])
        if update:
            payload = b.to_bytes(4, "big") + update.encode()
            client.socket.sendall(len(payload).to_bytes(3, "big") + b"\x10\0\0\0\0\0" + payload)
        client.ping()
        client.give(1 << 24)
        client.wait(filler, a, b)
        order = [s for s in client.order if s != filler]
        return ["a" if s == a else "b" for s in order]


def is_sequence(order, first, second):
    return order == [first] * order.count(first) + [second] * order.count(second)


def test_urgent_streams_come_first(front):
    assert is_sequence(orders(front, "u=5", "u=1"), "b", "a")
    assert is_sequence(orders(front, "u=1", "u=5"), "a", "b")
    assert is_sequence(orders(front, "", "u=0"), "b", "a")


def test_incremental_streams_take_turns(front):
    order = orders(front, "u=3, i", "u=3, i")
    assert not is_sequence(order, "a", "b") and not is_sequence(order, "b", "a")


def test_a_priority_update_counts(front):
    assert is_sequence(orders(front, "u=3", "u=5", update="u=0"), "b", "a")


# ---- clients that leave

@pytest.mark.parametrize("way", ["reset", "close", "abort"])
def test_a_client_that_leaves_leaves_nothing(front, way):
    for _ in range(amount(5)):
        client = H2Client(front)
        streams = [client.begin(path="/app/stream?n=1000&ms=10") for _ in range(5)] + [client.begin(path="/3m.bin")]
        upload = client.begin("POST", "/app/echo", end=False)
        client.send(upload, b"x" * 1000)
        client.until(lambda: all(client.answers[s].status for s in streams))
        if way == "reset":
            for stream in streams + [upload]:
                client.h2.reset_stream(stream, CANCEL)
            client.flush()
            assert client.request(path="/ten.txt").status == 200
        if way == "abort":
            client.reset()
        else:
            client.close()
        front.counts(0, "pontage_requests_in_flight")
        front.counts(0, "pontage_h2_streams")
        front.counts(0, "pontage_backend_server_in_flight")
        front.counts(0, "pontage_connections", protocol="h2")


# ---- drain and reload

def test_a_drain_ends_what_is_under_way_and_begins_nothing_more(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}"))
    with H2Client(gateway) as idle, H2Client(gateway) as client:
        idle.ping()
        stream = client.begin(path="/token?token=last&ms=500")
        client.ping()
        gateway.signal(signal.SIGTERM)
        client.until(lambda: client.goaway is not None)
        assert client.goaway == NO_ERROR
        assert client.wait(stream).body.strip() == b"last"
        assert client.closed() and idle.closed() and idle.goaway == NO_ERROR
    assert gateway.wait() == 0


def test_a_drain_tells_which_requests_were_not_served(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}"))
    with Frames(gateway) as client:
        client.request(1, path="/token?ms=500")
        assert client.alive()
        gateway.signal(signal.SIGTERM)
        first = client.until(frames.GoAwayFrame)
        assert first.last_stream_id == (1 << 31) - 1 and first.error_code == NO_ERROR
        ping = next((f for f in client.got if isinstance(f, frames.PingFrame) and "ACK" not in f.flags), None) or client.until(frames.PingFrame)
        client.request(3, path="/info")  # sent before the client can know: it is served
        client.send(frames.PingFrame(0, opaque_data=ping.opaque_data, flags=["ACK"]))
        last = client.until(frames.GoAwayFrame)
        assert last.last_stream_id == 3 and last.error_code == NO_ERROR
        client.request(5, path="/info")
        done = set()
        while (frame := client.frame()) is not None:
            if "END_STREAM" in frame.flags:
                done.add(frame.stream_id)
        assert done == {1, 3}
    assert gateway.wait() == 0


def test_a_drain_cuts_what_lasts_too_long(start, origin):
    gateway = start({**proxy_to(f"http://{origin.http}"), "shutdown": {"deadline": "300ms"}})
    with H2Client(gateway) as client:
        client.begin(path="/stream?n=1000&ms=100")
        client.ping()
        gateway.signal(signal.SIGTERM)
        assert client.closed()
    assert gateway.wait() == 0


def test_a_reload_disturbs_no_stream(start, origin, site):
    config = proxy_to(f"http://{origin.http}")
    gateway = start(config)
    with H2Client(gateway) as client:
        stream = client.begin(path="/token?token=old&ms=500")
        client.ping()
        gateway.reload({"routes": [{"files": str(site)}]})
        assert client.wait(stream).body.strip() == b"old"
        assert client.request(path="/ten.txt").body == b"0123456789"  # the connection goes on under the new configuration


def test_new_limits_reach_old_connections_by_a_drain(start, site):
    gateway = start({"routes": [{"files": str(site)}]})
    with H2Client(gateway) as client:
        client.request(path="/ten.txt")
        gateway.reload({"routes": [{"files": str(site)}], "limits": {"streams": 5}})
        assert client.closed() and client.goaway == NO_ERROR
    with H2Client(gateway) as client:
        client.request(path="/ten.txt")
        assert client.h2.remote_settings.max_concurrent_streams == 5


def test_many_connections_at_once(front):
    def work(i):
        with H2Client(front) as client:
            for _ in range(amount(10)):
                streams = [client.begin(path=p) for p in ("/3k.bin", "/app/bytes/5000", "/100k.bin", "/app/token?token=x")]
                assert [a.status for a in client.wait(*streams)] == [200] * 4
    in_parallel(20, work)
