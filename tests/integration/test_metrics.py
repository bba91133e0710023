"""What /metrics tells: the documented names, true counts, phases that add up, and a bounded number of series."""
import re

import pytest

from harness import ROOT, eventually, proxy_to

pytestmark = pytest.mark.smoke


def test_the_documented_names_exist_and_no_others(gateway):
    for path in ("/http/bytes/10", "/ajp/bytes/10", "/ten.txt"):
        gateway.get(path)
    told = set(re.findall(r"^\| `(pontage_\w+)` \|", (ROOT / "README.md").read_text(), re.M))
    text = gateway.metrics().text
    typed = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
    ours = {name for name in typed if name.startswith("pontage_")}
    assert ours <= told | {"pontage_build_info"}, ours - told
    assert {"pontage_requests_total", "pontage_toll_seconds", "pontage_phase_duration_seconds"} <= ours
    assert typed["pontage_requests_total"] == "counter" and typed["pontage_toll_seconds"] == "histogram"
    assert "process_resident_memory_bytes" in typed or "process_cpu_seconds_total" in typed


def test_requests_are_counted_by_route_method_and_code(start, origin):
    config = proxy_to(f"http://{origin.http}")
    config["routes"].insert(0, {"name": "fixed", "path": "/fixed", "respond": "x"})
    gateway = start(config)
    for _ in range(3):
        gateway.get("/fixed")
    gateway.request("POST", "/status/201", body=b"")
    gateway.request("BREW", "/status/418")
    gateway.counts(5, "pontage_requests_total")
    metrics = gateway.metrics()
    assert metrics.sum("pontage_requests_total", route="fixed", code="200", method="GET") == 3
    assert metrics.sum("pontage_requests_total", route="all", code="201", method="POST", backend="app") == 1
    assert metrics.sum("pontage_requests_total", route="all", method="other", code="418") == 1
    assert metrics.sum("pontage_request_duration_seconds_count", route="all") == 2
    assert metrics.sum("pontage_backend_server_requests_total") == 2


def test_phases_and_toll_add_up(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}"))
    for _ in range(20):
        gateway.get("/status/200?ms=20")
    gateway.counts(20, "pontage_requests_total")
    metrics = gateway.metrics()
    total = metrics.sum("pontage_request_duration_seconds_sum")
    phases = metrics.sum("pontage_phase_duration_seconds_sum")
    assert total >= 0.4
    assert abs(total - phases) <= 0.02 * total + 0.002, (total, phases)
    server = metrics.sum("pontage_phase_duration_seconds_sum", phase="server")
    assert server >= 0.9 * 0.4
    assert 0 < metrics.sum("pontage_toll_seconds_sum") <= total - server + 0.002


def test_a_slow_client_is_not_the_gateway_s_toll(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}"))
    with gateway.connect() as client:
        client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        assert client.silent(0.3)
        client.send("cd")
        assert client.read_response().status == 200
    gateway.counts(1, "pontage_requests_total")
    metrics = gateway.metrics()
    assert metrics.sum("pontage_toll_seconds_sum") < 0.1
    assert metrics.sum("pontage_request_duration_seconds_sum") >= 0.25


def test_clients_cannot_make_series(start, origin):
    gateway = start(proxy_to(f"http://{origin.http}"))
    gateway.get("/status/200")
    before = len(gateway.metrics().samples)
    for i in range(200):
        gateway.request(f"M{i}", f"/status/200?x={i}", headers={"Host-X": str(i)}, host=f"h{i}.example")
    assert len(gateway.metrics().samples) - before < 60


def test_counters_of_a_metric_scrape_are_exact_under_load(gateway):
    import threading
    count = lambda: gateway.metrics().sum("pontage_requests_total", route="/http/*")
    before = count()

    def load():
        with gateway.connect() as client:
            for _ in range(200):
                client.request("GET", "/http/status/200")
    threads = [threading.Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    eventually(lambda: count() == before + 800, "every request to be counted once")


def test_the_file_cache_counts_hits(start, site):
    gateway = start({"workers": 1, "routes": [{"files": str(site)}]})
    for _ in range(5):
        gateway.get("/3k.bin")
    gateway.counts(5, "pontage_requests_total")
    metrics = gateway.metrics()
    assert metrics.sum("pontage_cache_requests_total", result="hit") >= 3
    assert metrics.sum("pontage_cache_requests_total") == 5


@pytest.mark.parametrize("path, status", [("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/", 404), ("/nothing", 404)])
def test_admin_pages(gateway, path, status):
    assert gateway.admin_get(path)[0] == status
