#!/usr/bin/env python3
"""Latency of a 3 KB hit on one worker, alone and while a client downloads a file of 4 GiB, again and again, from the same worker as fast as it can.

  tests/perf/fairness.py [REQUESTS]     prints p50 and p99 in microseconds, and their ratio
"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PONTAGE_BIN", str(ROOT / "build/release/pontage"))


def latencies(port, count):
    request = b"GET /3k.bin HTTP/1.1\r\nHost: a\r\n\r\n"
    out = []
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            begin = time.perf_counter()
            s.sendall(request)
            data = s.recv(65536)
            size = data.index(b"\r\n\r\n") + 4 + 3072
            while len(data) < size:
                data += s.recv(65536)
            out.append((time.perf_counter() - begin) * 1e6)
    return sorted(out)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with tempfile.TemporaryDirectory(prefix="pontage-fair-") as folder:
        root = Path(folder) / "www"
        root.mkdir()
        (root / "3k.bin").write_bytes(os.urandom(3072))
        with open(root / "4g.bin", "wb") as file:
            file.truncate(4 << 30)
        config = Path(folder) / "c.yaml"
        config.write_text(f"workers: 1\nlisteners: ['127.0.0.1:0']\nroutes: [{{ files: {root} }}]\n")
        read, write = os.pipe()
        process = subprocess.Popen(["taskset", "-c", "0", BINARY, "run", "-c", str(config), "--ready-fd", str(write)], pass_fds=[write])
        os.close(write)
        try:
            with os.fdopen(read) as lines:
                port = int(re.search(r":(\d+)\n", lines.read())[1])
            latencies(port, 500)
            alone = latencies(port, count)
            download = subprocess.Popen(["taskset", "-c", "1", "curl", "-s", *["-o", "/dev/null", f"http://127.0.0.1:{port}/4g.bin"] * 100])
            time.sleep(0.2)
            beside = latencies(port, count)
            during = download.poll() is None
            download.kill()
            download.wait()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)
    assert during, "the download ended before the measurement did"
    for name, found in (("alone", alone), ("beside 4 GiB", beside)):
        print(f"{name:14} p50 {found[len(found) // 2]:8.0f}  p99 {found[len(found) * 99 // 100]:8.0f}  max {found[-1]:8.0f}")
    print(f"p99 ratio {beside[len(beside) * 99 // 100] / alone[len(alone) * 99 // 100]:.2f}")


main()
