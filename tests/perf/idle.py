#!/usr/bin/env python3
"""Memory of a keep-alive connection that waits: bytes of the gateway's own memory for each, after one request.

    tests/perf/idle.py [connections] [highest allowed bytes]

The kernel's socket memory is not counted. Ends with 1 when a connection costs more than is allowed.
"""
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from harness import Gateway  # noqa: E402


def proportional_bytes(pid):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) * 1024


def settled(pid):
    """The memory once it no longer falls: parked connections give their buffers back after a moment."""
    lowest, since = proportional_bytes(pid), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.05)
        now = proportional_bytes(pid)
        if now < lowest:
            lowest, since = now, time.monotonic()
    return lowest


def main():
    connections = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    allowed = int(sys.argv[2]) if len(sys.argv) > 2 else None
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(folder, {"workers": 1, "client": {"keep_alive": "10m"}, "routes": [{"respond": "x"}]})
        try:
            for _ in range(50):
                gateway.get("/")
            before = settled(gateway.pid)
            clients = []
            for _ in range(connections):
                client = gateway.connect()
                assert client.request("GET", "/").status == 200
                clients.append(client)
            after = settled(gateway.pid)
            each = (after - before) / connections
            print(f"{connections} idle connections: {each:.0f} bytes each ({before / 2**20:.1f} MiB before, {after / 2**20:.1f} MiB after)")
            for client in clients:
                client.close()
        finally:
            gateway.stop()
    return 1 if allowed is not None and each > allowed else 0


if __name__ == "__main__":
    sys.exit(main())
