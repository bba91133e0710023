"""What RFC 9113 forbids, frame by frame: each rule by its section, and that nothing of it reaches a server behind (V5)."""
import json

import pytest

from fakes import FakeServer, answering, ok
from h2client import (CANCEL, COMPRESSION_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, HOST, PREFACE, PROTOCOL_ERROR,
                      STREAM_CLOSED, Frames, H2Client, frames, head)
from harness import proxy_to

pytestmark = pytest.mark.smoke

MALFORMED = ("reset", PROTOCOL_ERROR)
REFUSED = (MALFORMED, 400)  # RFC 9113 8.1.1: reset, or answered before


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    """A gateway before a server that notes each request: (gateway, requests)."""
    from harness import Gateway
    seen = []
    with FakeServer(answering(lambda request: seen.append(request) or ok(b"x"))) as server:
        process = Gateway(tmp_path_factory.mktemp("rules"), proxy_to(server.url))
        yield process, seen
        process.stop()


def outcome_of(front, fields, *more, flags=("END_HEADERS", "END_STREAM")):
    """What becomes of a request with these fields; it must not reach the server, and the connection must live on."""
    gateway, seen = front
    before = len(seen)
    with Frames(gateway) as client:
        client.send(client.headers(1, fields, *flags), *more)
        outcome = client.outcome()
        client.request(3, path="/after")
        assert client.outcome(3) == 200 and client.alive()
    assert [r.target for r in seen[before:]] == ["/after"]
    return outcome


# ---- 8.2 fields

@pytest.mark.parametrize("fields", [
    pytest.param([("X-Upper", "1")], id="upper-case"),
    pytest.param([("x y", "1")], id="space-in-name"),
    pytest.param([("x\r\ny", "1")], id="crlf-in-name"),
    pytest.param([("x:y", "1")], id="colon-in-name"),
    pytest.param([("", "1")], id="empty-name"),
    pytest.param([("x\u00e4".encode("latin-1"), b"1")], id="non-ascii-name"),
    pytest.param([("x-a", "a\r\nx-b: c")], id="crlf-in-value"),
    pytest.param([("x-a", "a\nb")], id="lf-in-value"),
    pytest.param([("x-a", "a\0b")], id="nul-in-value"),
], )
def test_8_2_1_illegal_names_and_values_are_malformed(front, fields):
    assert outcome_of(front, head(fields=fields)) in REFUSED


@pytest.mark.parametrize("fields", [[("connection", "close")], [("connection", "x-a"), ("x-a", "1")], [("keep-alive", "1")],
                                    [("proxy-connection", "keep-alive")], [("transfer-encoding", "chunked")], [("upgrade", "h2c")],
                                    [("te", "gzip")], [("te", "trailers, gzip")]], ids=str)
def test_8_2_2_fields_of_a_connection_are_malformed(front, fields):
    assert outcome_of(front, head(fields=fields)) in REFUSED


def test_8_2_2_te_trailers_is_legal(front):
    with H2Client(front[0]) as client:
        assert client.request(fields=[("te", "trailers")]).status == 200


def test_8_2_3_cookie_crumbs_become_one_field(front):
    gateway, seen = front
    with H2Client(gateway) as client:
        client.request(path="/crumbs", fields=[("cookie", "a=1"), ("x-a", "1"), ("cookie", "b=2; c=3"), ("cookie", "d=4")])
    assert seen[-1].all("cookie") == ["a=1; b=2; c=3; d=4"]


# ---- 8.3 pseudo-fields

@pytest.mark.parametrize("fields", [
    pytest.param(head(method=None), id="no-method"),
    pytest.param(head(path=None), id="no-path"),
    pytest.param(head(path=""), id="empty-path"),
    pytest.param(head(scheme=None), id="no-scheme"),
    pytest.param(head() + [(":path", "/b")], id="two-paths"),
    pytest.param(head()[:1] + head(), id="two-methods"),
    pytest.param([(":scheme", "http")] + head(), id="two-schemes"),
    pytest.param([(":authority", HOST)] + head(), id="two-authorities"),
    pytest.param(head() + [(":unknown", "1")], id="unknown"),
    pytest.param(head() + [(":status", "200")], id="of-a-response"),
    pytest.param([("x-a", "1")] + head(), id="after-a-field"),
    pytest.param(head()[:2] + [("x-a", "1")] + head()[2:], id="between-fields"),
    pytest.param([(":protocol", "websocket")] + head("CONNECT"), id="protocol-unannounced"),
    pytest.param(head("CONNECT"), id="connect-with-path"),
    pytest.param([(":method", "CONNECT")], id="connect-without-authority"),
])
def test_8_3_pseudo_fields_out_of_order_are_malformed(front, fields):
    assert outcome_of(front, fields) in REFUSED


@pytest.mark.parametrize("fields", [
    pytest.param(head(path="x"), id="path-without-slash"),
    pytest.param(head(path="*"), id="asterisk-without-options"),
    pytest.param(head(path="http://b.example/"), id="absolute-form"),
    pytest.param(head(path="/a b"), id="space-in-path"),
    pytest.param(head(path="/a HTTP/1.1\r\nHost: b\r\n\r\nGET /b"), id="request-in-path"),
    pytest.param(head(path="/a\tb"), id="tab-in-path"),
    pytest.param(head(path="/a#b"), id="fragment"),
    pytest.param(head("GET /x HTTP/1.1\r\nA: b"), id="request-in-method"),
    pytest.param(head("G T"), id="space-in-method"),
    pytest.param(head(""), id="empty-method"),
    pytest.param(head(scheme="ftp"), id="scheme-of-others"),
    pytest.param(head(scheme="http://a/?"), id="url-in-scheme"),
    pytest.param(head(host="user@b.example"), id="userinfo"),
    pytest.param(head(host="b.example:99999"), id="port-too-large"),
    pytest.param(head(host="b.example/x"), id="path-in-authority"),
    pytest.param(head(host="a\r\nx: b"), id="crlf-in-authority"),
    pytest.param(head(host="a b"), id="space-in-authority"),
    pytest.param(head(host=None), id="no-host"),
    pytest.param(head(host=""), id="empty-host"),
])
def test_8_3_1_illegal_values_are_malformed(front, fields):
    assert outcome_of(front, fields) in REFUSED


@pytest.mark.parametrize("hosts", [["b.example"], [HOST + ":81"], [HOST, HOST], [HOST, "b.example"], [""]], ids=str)
def test_8_3_1_authority_and_host_must_agree(front, hosts):
    assert outcome_of(front, head(fields=[("host", h) for h in hosts])) in REFUSED


def test_8_3_1_a_host_field_alone_is_enough(front):
    gateway, seen = front
    with H2Client(gateway) as client:
        assert client.request(path="/host", host=None, fields=[("host", "b.example")]).status == 200
    assert seen[-1].all("host") == ["b.example"]


# ---- 8.1 messages

def data(stream, bytes_, *flags):
    return frames.DataFrame(stream, data=bytes_, flags=flags)


@pytest.mark.parametrize("length, body", [("5", b"four"), ("3", b"four"), ("0", b"x"), ("+4", b"four"), ("4, 4", b"four"), ("-1", b""),
                                          ("4 4", b"four"), ("0x4", b"four"), ("99999999999999999999", b"four")])
def test_8_1_1_a_length_that_lies_is_malformed(front, length, body):
    gateway, seen = front
    path = "/lie-" + "".join(f"{ord(c):x}" for c in length)
    with Frames(gateway) as client:
        client.send(client.headers(1, head("POST", path, [("content-length", length)]), "END_HEADERS"), data(1, body, "END_STREAM"))
        # A body of no bytes is whole with its head: what comes behind may be too late to be held against it.
        late = [200] if length == "0" else []
        assert client.outcome() in (*REFUSED, 502, *late)
        client.request(3, path="/after-lie")
        assert client.outcome(3) == 200
    assert all(late and r.body == b"" for r in seen if r.target == path)


def test_8_1_1_two_lengths_are_malformed(front):
    assert outcome_of(front, head("POST", fields=[("content-length", "4"), ("content-length", "5")]), data(1, b"four", "END_STREAM"),
                      flags=("END_HEADERS",)) in REFUSED


def test_8_1_1_a_length_without_a_body_is_malformed(front):
    assert outcome_of(front, head("POST", fields=[("content-length", "4")])) in REFUSED


def test_8_1_pseudo_fields_in_trailers_are_malformed(front):
    gateway, seen = front
    with Frames(gateway) as client:
        client.send(client.headers(1, head("POST", "/trailers"), "END_HEADERS"), data(1, b"x"), client.headers(1, [(":path", "/b")]))
        assert client.outcome() in (MALFORMED, 400, 502)
        assert client.alive()
    assert not [r for r in seen if r.target == "/trailers"]


def test_8_1_trailers_must_end_the_stream(front):
    gateway, seen = front
    with Frames(gateway) as client:
        client.send(client.headers(1, head("POST", "/endless"), "END_HEADERS"), client.headers(1, [("x-a", "1")], "END_HEADERS"))
        assert client.outcome() in (MALFORMED, ("goaway", PROTOCOL_ERROR))
    assert not [r for r in seen if r.target == "/endless"]


def test_8_1_trailers_do_not_become_fields(front):
    gateway, seen = front
    with Frames(gateway) as client:
        client.send(client.headers(1, head("POST", "/t"), "END_HEADERS"), data(1, b"x"),
                    client.headers(1, [("content-length", "9"), ("x-forwarded-for", "1.2.3.4"), ("host", "b")]))
        client.outcome()
    for request in (r for r in seen if r.target == "/t"):
        assert request.all("host") == [HOST] and "1.2.3.4" not in request.all("x-forwarded-for")[0]


def test_v5_no_request_becomes_two(front):
    gateway, seen = front
    before = len(seen)
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    with Frames(gateway) as client:
        client.send(client.headers(1, head("GET", "/one"), "END_HEADERS"), data(1, smuggled, "END_STREAM"))
        assert client.outcome() == 200
        client.send(client.headers(3, head("POST", "/two", [("content-length", str(len(smuggled)))]), "END_HEADERS"),
                    data(3, smuggled, "END_STREAM"))
        assert client.outcome(3) == 200
        client.send(client.headers(5, head("POST", "/three", [("x-transfer-encoding", "chunked"), ("transfer_encoding", "chunked"),
                                                              ("content_length", "0")]), "END_HEADERS"),
                    data(5, b"0\r\n\r\n" + smuggled, "END_STREAM"))
        assert client.outcome(5) == 200
    assert [(r.target, r.body) for r in seen[before:]] == [("/one", smuggled), ("/two", smuggled), ("/three", b"0\r\n\r\n" + smuggled)]


# ---- limits

@pytest.mark.parametrize("fields, status", [
    pytest.param(head(path="/" + "a" * 9000), 414, id="path"),
    pytest.param(head(fields=[("x-a", "a" * 17_000)]), 431, id="field"),
    pytest.param(head(fields=[(f"x-{i}", "1") for i in range(101)]), 431, id="count"),
    pytest.param(head(fields=[(f"x-{i}", "a" * 10_000) for i in range(8)]), 431, id="all-fields"),
])
def test_limits_are_those_of_http_1(front, fields, status):
    gateway, seen = front
    before = len(seen)
    with Frames(gateway) as client:
        block = client.block(fields)
        first, rest = block[:16_000], [block[i:i + 16_000] for i in range(16_000, len(block), 16_000)]
        client.send(frames.HeadersFrame(1, data=first, flags=["END_STREAM"] + ([] if rest else ["END_HEADERS"])),
                    *(frames.ContinuationFrame(1, data=d, flags=["END_HEADERS"] if d is rest[-1] else []) for d in rest))
        assert client.outcome() == status
        assert client.alive()
    assert len(seen) == before


# ---- 4 to 6: frames and streams

def raw(kind, flags, stream, payload=b"", length=None):
    length = len(payload) if length is None else length
    return length.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


@pytest.mark.parametrize("sent, codes", [
    pytest.param(raw(0, 0, 0, b"x"), {PROTOCOL_ERROR}, id="6.1-data-on-stream-0"),
    pytest.param(raw(0, 0, 1, b"x"), {PROTOCOL_ERROR, STREAM_CLOSED}, id="5.1-data-on-an-idle-stream"),
    pytest.param(raw(1, 4, 0, b"\x82"), {PROTOCOL_ERROR}, id="6.2-headers-on-stream-0"),
    pytest.param(raw(1, 5, 2, b"\x82\x86\x84\x41\1a"), {PROTOCOL_ERROR}, id="5.1.1-an-even-stream"),
    pytest.param(raw(1, 0xd, 1, b"\x10\x82"), {PROTOCOL_ERROR}, id="6.2-padding-beyond-the-frame"),
    pytest.param(raw(3, 0, 0, b"\0\0\0\0"), {PROTOCOL_ERROR}, id="6.4-reset-of-stream-0"),
    pytest.param(raw(3, 0, 1, b"\0\0\0\0"), {PROTOCOL_ERROR}, id="6.4-reset-of-an-idle-stream"),
    pytest.param(raw(3, 0, 1, b"\0\0\0"), {FRAME_SIZE_ERROR, PROTOCOL_ERROR}, id="6.4-a-short-reset"),
    pytest.param(raw(4, 0, 1), {PROTOCOL_ERROR}, id="6.5-settings-on-a-stream"),
    pytest.param(raw(4, 1, 0, b"\0" * 6), {FRAME_SIZE_ERROR}, id="6.5-an-ack-with-settings"),
    pytest.param(raw(4, 0, 0, b"\0" * 5), {FRAME_SIZE_ERROR}, id="6.5-settings-of-odd-size"),
    pytest.param(raw(4, 0, 0, b"\0\2\0\0\0\2"), {PROTOCOL_ERROR}, id="6.5.2-enable-push-2"),
    pytest.param(raw(4, 0, 0, b"\0\4\x80\0\0\0"), {FLOW_CONTROL_ERROR}, id="6.5.2-a-window-too-large"),
    pytest.param(raw(4, 0, 0, b"\0\5\0\0\0\1"), {PROTOCOL_ERROR}, id="6.5.2-frames-too-small"),
    pytest.param(raw(5, 4, 1, b"\0\0\0\2\x82"), {PROTOCOL_ERROR}, id="8.4-a-push"),
    pytest.param(raw(6, 0, 1, b"12345678"), {PROTOCOL_ERROR}, id="6.7-ping-on-a-stream"),
    pytest.param(raw(6, 0, 0, b"1234"), {FRAME_SIZE_ERROR}, id="6.7-a-short-ping"),
    pytest.param(raw(7, 0, 1, b"\0" * 8), {PROTOCOL_ERROR}, id="6.8-goaway-on-a-stream"),
    pytest.param(raw(8, 0, 0, b"\0\0\0\0"), {PROTOCOL_ERROR}, id="6.9-an-update-of-0"),
    pytest.param(raw(8, 0, 0, b"\0\0\0"), {FRAME_SIZE_ERROR}, id="6.9-a-short-update"),
    pytest.param(raw(8, 0, 1, b"\0\0\0\1"), {PROTOCOL_ERROR}, id="5.1-an-update-of-an-idle-stream"),
    pytest.param(raw(8, 0, 0, b"\x7f\xff\xff\xff"), {FLOW_CONTROL_ERROR}, id="6.9.1-a-window-too-large"),
    pytest.param(raw(9, 4, 1, b"\x82"), {PROTOCOL_ERROR}, id="6.10-a-continuation-of-nothing"),
    pytest.param(raw(1, 1, 1, b"\x82") + raw(6, 0, 0, b"12345678"), {PROTOCOL_ERROR}, id="6.10-a-ping-inside-a-block"),
    pytest.param(raw(1, 1, 1, b"\x82") + raw(9, 4, 3, b"\x86"), {PROTOCOL_ERROR}, id="6.10-a-continuation-of-another-stream"),
    pytest.param(raw(1, 5, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff"), {COMPRESSION_ERROR}, id="4.3-an-index-beyond-the-table"),
    pytest.param(raw(1, 5, 1, b"\x40\x7f\xff\xff\xff\xff\xff\xff"), {COMPRESSION_ERROR}, id="4.3-a-string-beyond-the-block"),
    pytest.param(raw(1, 5, 1, b"\x3f\xff\xff\xff\x7f"), {COMPRESSION_ERROR}, id="4.3-a-table-too-large"),
    pytest.param(raw(0, 0, 1, b"", length=16_385), {FRAME_SIZE_ERROR, PROTOCOL_ERROR, STREAM_CLOSED}, id="4.2-a-frame-too-large"),
])
def test_errors_of_the_connection_end_it(front, sent, codes):
    with Frames(front[0]) as client:
        client.raw(sent + (b"\0" * 16_385 if sent[:3] == b"\0\x40\1" else b""))
        assert client.goaway() in codes


def test_5_1_frames_after_the_end_of_a_stream_are_errors(front):
    for more in (data(1, b"x"), frames.HeadersFrame(1, data=b"\x82", flags=["END_HEADERS", "END_STREAM"])):
        with Frames(front[0]) as client:
            client.request(1)
            client.send(more)
            assert client.goaway() in (STREAM_CLOSED, PROTOCOL_ERROR)


def test_5_1_1_identifiers_grow(front):
    with Frames(front[0]) as client:
        client.request(5)
        assert client.outcome(5) == 200
        client.request(3)
        assert client.goaway() in (PROTOCOL_ERROR, STREAM_CLOSED)


def test_5_3_1_a_stream_depends_on_no_self(front):
    with Frames(front[0]) as client:
        client.raw(raw(2, 0, 1, b"\0\0\0\1\x10"))
        assert client.until(frames.GoAwayFrame).error_code == PROTOCOL_ERROR


def test_4_1_unknown_frames_and_5_5_settings_are_ignored(front):
    with Frames(front[0]) as client:
        client.raw(raw(0xbe, 0xff, 0, b"whatever") + raw(0xbe, 0, 1, b"") + raw(4, 0, 0, b"\xaa\xaa\0\0\0\1"))
        client.request(1)
        assert client.outcome() == 200


def test_padding_is_taken_out(front):
    gateway, seen = front
    with Frames(gateway) as client:
        client.send(client.headers(1, head("POST", "/padded"), "END_HEADERS"),
                    frames.DataFrame(1, data=b"hello", pad_length=200, flags=["PADDED", "END_STREAM"]))
        assert client.outcome() == 200
    assert seen[-1].body == b"hello"


@pytest.mark.parametrize("first", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + raw(6, 0, 0, b"12345678"), PREFACE[:18] + b"XX\r\n\r\n" + b"\0" * 20],
                         ids=["no-settings", "wrong-preface"])
def test_3_4_a_wrong_preface_ends_the_connection(front, first):
    with Frames(front[0], start=False) as client:
        client.raw(first)
        while client.recv():
            pass  # GOAWAY or an answer of HTTP/1.1, then the end


def test_a_stream_that_is_reset_reaches_the_end_of_its_request(start, origin):
    """Its exchange ends, its memory goes, the connection to the server is not used again with half a request in it."""
    gateway = start(proxy_to(f"http://{origin.http}"))
    with Frames(gateway) as client:
        for stream in range(1, 101, 2):
            client.send(client.headers(stream, head("POST", "/echo", [("content-length", "100")]), "END_HEADERS"), data(stream, b"x" * 50),
                        frames.RstStreamFrame(stream, error_code=CANCEL))
        client.request(101, path="/info")
        assert client.outcome(101) == 200
        gateway.counts(0, "pontage_h2_streams")
        gateway.counts(0, "pontage_requests_in_flight")
        gateway.counts(0, "pontage_backend_server_in_flight")
    assert json.loads(gateway.get("/info").body)["method"] == "GET"
