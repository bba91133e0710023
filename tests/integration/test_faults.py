"""The origin's faults on demand: each has its status (ADAPTERS X7 to X20), and the next request is fine."""
import pytest

from harness import ADAPTERS, SCALE, backend_to, eventually

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def front(tmp_path_factory, origin):
    from harness import Gateway
    timeouts = {"first_byte": f"{800 * SCALE}ms", "idle": f"{500 * SCALE}ms"}
    process = Gateway(tmp_path_factory.mktemp("faults"), {
        "backends": {name: backend_to(origin, name, timeouts=timeouts) for name in ADAPTERS},
        "routes": [{"path": f"/{name}/*", "proxy": name} for name in ADAPTERS]})
    yield process
    process.stop()


# status: the only ones allowed; "cut": a response that ends before it is complete.
HTTP = {
    "reset": {502}, "close": {502}, "short": {502, "cut"}, "long": {200}, "garbage": {502}, "hang": {504}, "half-close": {200},
    "mid-chunk": {502, "cut"}, "double": {200}, "head-then-hang": {504, "cut"}, "stall": {504, "cut"}, "big-head": {502},
    "bad-header": {502}, "two-lengths": {502}, "te-and-length": {200, 502}, "no-length-close": {200}, "interim-forever": {200, 502},
    "204-with-body": {204}, "304-with-body": {304}, "after-idle": {200},
    "no-last-chunk": {502, "cut"}, "bad-chunk": {502, "cut"}, "stall-in-head": {504}, "nul-header": {502}, "bad-status": {502},
}
AJP = {
    "reset": {502}, "close": {502}, "garbage": {502}, "wrong-magic": {502}, "hang": {504}, "short": {502, "cut"}, "short-end": {502, "cut"},
    "long": {200, 502, "cut"}, "half-close": {200}, "mid-chunk": {502, "cut"}, "double": {200}, "two-heads": {502, "cut"},
    "head-then-hang": {504, "cut"}, "stall": {504, "cut"}, "no-end": {200, 504, "cut"}, "big-head": {502}, "bad-header": {502},
    "nul-header": {502}, "misaligned": {502}, "two-lengths": {502}, "bad-status": {502}, "unknown-code": {502}, "cpong": {502},
    "body-before-head": {502}, "body-after-end": {200}, "chunk-overrun": {502, "cut"}, "noreuse": {200}, "204-with-body": {204},
    "304-with-body": {304}, "after-idle": {200}, "ask-body": {200},
}
# What FastCGI, SCGI and uwsgi share; then what differs: without an end of its own a protocol ends with its stream.
CGI = {
    "reset": {502}, "close": {502}, "garbage": {502}, "hang": {504}, "no-head": {502}, "short": {502, "cut"}, "short-close": {502, "cut"},
    "short-reset": {502, "cut"}, "long": {200}, "half-close": {200}, "slow-head": {200}, "double": {200}, "head-then-hang": {504, "cut"},
    "stall": {504, "cut"}, "stall-in-head": {504}, "cut-in-head": {502}, "no-end": {200}, "big-head": {502}, "bad-header": {502},
    "nul-header": {502}, "no-fields": {502}, "bad-status": {502}, "interim-status": {502}, "two-lengths": {502}, "204-with-body": {204},
    "304-with-body": {304}, "after-idle": {200},
}
FASTCGI = CGI | {
    "wrong-version": {502}, "wrong-id": {502}, "unknown-type": {502}, "short-end": {502}, "mid-record": {502, "cut"}, "split": {200},
    "padded": {200}, "stderr": {200}, "much-stderr": {200}, "only-stderr": {502}, "app-status": {200}, "cannot-multiplex": {502},
    "overloaded": {503}, "unknown-role": {502}, "late-overload": {502, "cut"}, "output-after-its-end": {502, "cut"},
    "output-after-end": {200}, "double-end": {200}, "no-output-end": {200},
}
FAULTS = {"http": HTTP, "ajp": AJP, "fastcgi": FASTCGI, "kept": FASTCGI, "scgi": CGI, "uwsgi": CGI}


def outcome(response):
    return "cut" if response.truncated else response.status


@pytest.mark.parametrize("adapter, kind", [(adapter, kind) for adapter in ADAPTERS for kind in FAULTS[adapter]])
def test_a_fault_has_its_status_and_harms_nobody_else(front, adapter, kind):
    allowed = FAULTS[adapter][kind]
    for _ in range(2):
        with front.connect() as client:
            # One good request first, so that the fault also happens on a connection that was used before.
            assert client.request("GET", f"/{adapter}/bytes/10").status == 200
            response = client.request("GET", f"/{adapter}/fault/{kind}")
            assert outcome(response) in allowed, response
            assert "long" != kind or response.status != 200 or len(response.body) == 5
        for _ in range(3):
            after = front.get(f"/{adapter}/token?token=clean")
            assert after.status == 200 and after.body.strip() == b"clean"
    front.counts(len(ADAPTERS), "pontage_backend_server_up")


def test_a_head_that_comes_slowly_is_waited_for(front):
    response = front.get("/http/fault/slow-head")
    assert outcome(response) in (200, 504)
    assert front.get("/http/status/200").status == 200


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_early_answers_do_not_wait_for_the_body(front, adapter):
    for _ in range(3):
        response = front.request("POST", f"/{adapter}/early", body=bytes(3_000_000))
        assert response.status == 413
        assert front.get(f"/{adapter}/status/200").status == 200


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("size, statuses", [(6000, {200}), (7500, {200, 502}), (60_000, {200, 502}), (200_000, {502})])
def test_large_response_heads_pass_up_to_the_limit(front, adapter, size, statuses):
    response = front.get(f"/{adapter}/headers/{size}")
    # Over AJP the origin itself says 500 to what does not fit its packets.
    assert response.status in statuses | ({500} if adapter == "ajp" and size > 7000 else set())
    assert front.get(f"/{adapter}/status/200").status == 200


def test_after_all_that_nothing_is_left_in_flight(front):
    for name in ("pontage_requests_in_flight", "pontage_backend_server_in_flight", "pontage_backend_queue_length"):
        eventually(lambda name=name: front.metrics().sum(name) == 0, name)
