"""The budget of system calls (DESIGN "The engine"): counted over 10 000 keep-alive requests on one worker."""
import re
import shutil
import signal
import subprocess

import pytest

from harness import Gateway, eventually

REQUESTS = 10_000

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace counts the calls")


@pytest.fixture(scope="module")
def front(tmp_path_factory, origin):
    folder = tmp_path_factory.mktemp("budget")
    (folder / "site").mkdir()
    (folder / "site/3k.bin").write_bytes(b"x" * 3072)
    (folder / "site/100k.bin").write_bytes(b"y" * 102400)
    process = Gateway(folder, {
        "workers": 1,
        "backends": {name: {"servers": [f"{name}://{getattr(origin, name)}"]} for name in ("http", "ajp")},
        "routes": [{"path": "/http/*", "proxy": "http"}, {"path": "/ajp/*", "proxy": "ajp"}, {"files": str(folder / "site")}]})
    yield process
    process.stop()


def calls_per_request(front, path, tmp_path):
    """What the gateway's threads called while one client sent its requests one after the other."""
    with front.connect() as client:
        for _ in range(20):  # caches and pools fill
            assert client.request("GET", path).status == 200
        report = tmp_path / "calls"
        counter = subprocess.Popen(["strace", "-f", "-c", "-o", report, "-p", str(front.pid)], stderr=subprocess.PIPE, text=True)
        attached = counter.stderr.readline()
        assert "attached" in attached, attached
        for _ in range(REQUESTS):
            assert client.request("GET", path).status == 200
        counter.send_signal(signal.SIGINT)
        counter.communicate(timeout=20)
    counts = {}
    for line in report.read_text().splitlines():
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:(\d+)\s+)?(\w+)$", line)
        if found and found[3] != "total":
            counts[found[3]] = (int(found[1]) / REQUESTS, int(found[2] or 0) / REQUESTS)
    return counts


SLACK = 0.02  # the admin page, timers, and what the threads did while the counter came and went


def spent(counts, *names):
    return sum(counts.get(name, (0, 0))[0] for name in names)


# marks: AJP tells the kernel how much to wait for, and takes it back (`upstream/answer_mark.h`); it saves wake-ups.
@pytest.mark.parametrize("path, receives, sends, files, marks", [
    ("/3k.bin", 1, 1, 0, 0), ("/100k.bin", 1, 1, 2, 0), ("/http/bytes/24", 2, 2, 0, 0), ("/http/bytes/8192", 2, 2, 0, 0),
    ("/ajp/bytes/24", 2, 2, 0, 2)])
def test_a_request_costs_no_more_calls_than_the_budget(front, path, receives, sends, files, marks, tmp_path):
    counts = calls_per_request(front, path, tmp_path)
    assert spent(counts, "recvfrom", "recvmsg", "read") <= receives + SLACK, counts
    assert spent(counts, "sendto", "sendmsg", "writev", "write") <= sends + SLACK, counts
    assert spent(counts, "sendfile") <= files + SLACK, counts
    assert spent(counts, "setsockopt") <= marks + SLACK, counts
    assert spent(counts, "epoll_ctl", "mmap", "munmap", "brk", "openat", "fstat") <= SLACK + (1 if files else 0), counts
    # With one client every message is a wake-up of its own; with many they share one.
    assert spent(counts, "epoll_wait") <= receives + SLACK, counts
