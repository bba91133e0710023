#!/usr/bin/env python3
"""CPU per request of the file server beside nginx, lighttpd and h2o, where tests/perf has no other rig: 304, gzip of a hot text,
cached descriptors, files opened each time. Needs wrk and those servers; each runs alone on CPU 0, wrk on CPU 1.

  tests/perf/files.py [ROUNDS] [SECONDS]        prints the median of CPU microseconds per request, user and system
"""
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PONTAGE_BIN", str(ROOT / "build/release/pontage"))
TICK = os.sysconf("SC_CLK_TCK")

PONTAGE = """
workers: 1
listeners: ["127.0.0.1:{port}"]
routes:
  - {{ path: /gz/*, rewrite: {{ strip_prefix: /gz }}, files: {root}, compress: [gzip] }}
  - {{ path: /fd/*, rewrite: {{ strip_prefix: /fd }}, files: {{ root: {root}, cache: file }} }}
  - {{ path: /un/*, rewrite: {{ strip_prefix: /un }}, files: {{ root: {root}, cache: uncached }} }}
  - files: {root}
"""
NGINX = """
daemon off; master_process off; pid {run}/nginx.pid; error_log {run}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; types {{ text/plain txt; application/octet-stream bin; }}
  client_body_temp_path {run}/b; proxy_temp_path {run}/p; fastcgi_temp_path {run}/f; uwsgi_temp_path {run}/u; scgi_temp_path {run}/s;
  open_file_cache max=100; open_file_cache_valid 60s;
  server {{ listen 127.0.0.1:{port}; root {root};
    location /gz/ {{ alias {root}/; gzip on; gzip_types text/plain; gzip_comp_level 5; }}
    location /fd/ {{ alias {root}/; }}
    location /un/ {{ alias {root}/; open_file_cache off; }} }}
}}
"""
LIGHTTPD = """
server.port = {port}
server.bind = "127.0.0.1"
server.document-root = "{root}"
server.max-keep-alive-requests = 100000000
server.modules = ( "mod_alias" )
alias.url = ( "/fd/" => "{root}/", "/un/" => "{root}/" )
mimetype.assign = ( ".txt" => "text/plain", ".bin" => "application/octet-stream" )
"""
H2O = """
listen: {{ host: 127.0.0.1, port: {port} }}
num-threads: 1
error-log: {run}/h2o.log
hosts: {{ default: {{ paths: {{ "/": {{ file.dir: {root} }} }} }} }}
"""
SERVERS = {"pontage": ([BINARY, "run", "-c"], PONTAGE), "nginx": (["nginx", "-c"], NGINX),
           "lighttpd": (["lighttpd", "-D", "-f"], LIGHTTPD), "h2o": (["h2o", "-c"], H2O)}
# name: (path, fields, servers)
WORKLOADS = {
    "304": ("/3k.bin", ["If-None-Match: {etag}"], ("pontage", "nginx", "lighttpd", "h2o")),
    "file-3k": ("/fd/3k.bin", [], ("pontage", "nginx", "lighttpd")),
    "uncached-3k": ("/un/3k.bin", [], ("pontage", "nginx", "lighttpd")),
    "gzip-100k": ("/gz/100k.txt", ["Accept-Encoding: gzip"], ("pontage", "nginx")),
}


def make_files(root):
    words = ["".join(random.choice("abcdefghijklmnop") for _ in range(random.randint(3, 9))) for _ in range(500)]
    (root / "3k.bin").write_bytes(random.randbytes(3072))
    (root / "100k.txt").write_text(" ".join(random.choice(words) for _ in range(20000))[:102400])
    for path in root.iterdir():
        os.utime(path, (1e9, 1e9))


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def etag_of(port, path):
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while got := s.recv(65536):
            data += got
    return re.search(rb"(?i)etag: (\S+)", data)[1].decode()


def measure(server, workload, root, run, seconds):
    command, template = SERVERS[server]
    path, fields, _ = WORKLOADS[workload]
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    config = run / f"{server}.conf"
    config.write_text(template.format(port=port, root=root, run=run))
    process = subprocess.Popen(["taskset", "-c", "0", *command, str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end and process.poll() is None, f"{server} does not listen"
        headers = sum((["-H", f.format(etag=etag_of(port, path) if "{etag}" in f else "")] for f in fields), [])
        load = ["taskset", "-c", "1", "wrk", "-t1", "-c32", *headers]
        subprocess.run([*load, "-d1", f"http://127.0.0.1:{port}{path}"], capture_output=True, check=True)
        before = cpu_seconds(process.pid)
        out = subprocess.run([*load, f"-d{seconds}", f"http://127.0.0.1:{port}{path}"], capture_output=True, check=True, text=True).stdout
        spent = cpu_seconds(process.pid) - before
        requests = int(re.search(r"(\d+) requests in", out)[1])
        assert workload == "304" or "Non-2xx" not in out, out
        return spent / requests * 1e6
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main():
    rounds, seconds = (int(a) for a in (sys.argv[1:] + ["3", "2"][len(sys.argv) - 1:]))
    run = Path(tempfile.mkdtemp(prefix="pontage-files-"))
    run.chmod(0o755)
    root = run / "www"
    root.mkdir()
    make_files(root)
    try:
        for workload, (_, _, servers) in WORKLOADS.items():
            found = {s: [] for s in servers if shutil.which(SERVERS[s][0][0])}
            for _ in range(rounds):
                for server in found:
                    found[server].append(measure(server, workload, root, run, seconds))
            medians = {s: statistics.median(v) for s, v in found.items()}
            best = min(v for s, v in medians.items() if s != "pontage")
            print(f"{workload:12}", "  ".join(f"{s} {v:8.2f}" for s, v in medians.items()), f"  ratio {medians['pontage'] / best:.2f}", flush=True)
    finally:
        shutil.rmtree(run)


main()
