"""The PROXY protocol with others: nginx and HAProxy behind the gateway, curl and HAProxy before it."""
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from conftest import NGINX, Server, free_port
from harness import PATIENCE, proxy_to

HAPROXY = shutil.which("haproxy") or "/usr/sbin/haproxy"
CURL = shutil.which("curl")

NGINX_CONF = """
daemon off;
master_process off;
pid {run}/nginx.pid;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {run}/body; proxy_temp_path {run}/proxy; fastcgi_temp_path {run}/fastcgi;
  uwsgi_temp_path {run}/uwsgi; scgi_temp_path {run}/scgi;
  server {{
    listen 127.0.0.1:{port} proxy_protocol;
    location / {{ return 200 "$proxy_protocol_addr $proxy_protocol_port $proxy_protocol_server_addr $proxy_protocol_server_port"; }}
  }}
}}
"""
HAPROXY_CONF = """
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
listen front1
  bind 127.0.0.1:{front1}
  server s 127.0.0.1:{gateway} send-proxy
listen front2
  bind 127.0.0.1:{front2}
  unique-id-format id-%ci-%cp
  server s 127.0.0.1:{gateway} send-proxy-v2 proxy-v2-options crc32c,unique-id,authority,ssl,cert-cn
frontend behind
  bind 127.0.0.1:{behind} accept-proxy
  http-request return status 200 content-type text/plain lf-string "%[src] %[src_port] %[dst] %[dst_port] %[fc_pp_unique_id] %[req.hdr(X-Forwarded-For)]"
"""


@pytest.fixture(scope="module")
def nginx_behind(tmp_path_factory):
    if not Path(NGINX).exists():
        pytest.skip("nginx is not installed")
    folder, port = tmp_path_factory.mktemp("nginx-proxied"), free_port()
    folder.chmod(0o755)
    (folder / "nginx.conf").write_text(NGINX_CONF.format(run=folder, port=port))
    server = Server([NGINX, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")], [port], folder / "log")
    server.port = port
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]"])
def test_nginx_believes_the_header(start, nginx_behind, version, address):
    gateway = start({**proxy_to(f"http://127.0.0.1:{nginx_behind.port}", send_proxy=version), "listeners": [f"{address}:0"]})
    for _ in range(20):
        with gateway.connect() as client:
            host, port = client.socket.getsockname()[:2]
            assert client.request("GET", "/").body.decode().split() == [host, str(port), *map(str, gateway.address)]
    assert gateway.metrics().sum("pontage_backend_server_errors_total") == 0


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_nginx_takes_unix_clients_too(start, nginx_behind, tmp_path, version):
    gateway = start({**proxy_to(f"http://127.0.0.1:{nginx_behind.port}", send_proxy=version), "listeners": [f"unix:{tmp_path}/s"]})
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect(f"{tmp_path}/s")
        s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 200")
    gateway.stop()


@pytest.mark.skipif(not CURL, reason="curl is not installed")
@pytest.mark.parametrize("protocol,times", [("--http1.1", 2), ("--http2-prior-knowledge", 1)])  # curl 7.88 trips over its second there
def test_curl_is_believed(start, protocol, times):
    gateway = start({"routes": [{"respond": "hello"}], "listeners": [{"bind": "127.0.0.1:0", "proxy_protocol": {"trust": ["127.0.0.1"]}}]})
    url = "http://{}:{}/".format(*gateway.address)
    done = subprocess.run([CURL, "-sS", protocol, "--haproxy-protocol", *[url] * times], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "hello" * times, done.stderr
    gateway.counts(1, "pontage_proxy_headers_total", result="v1")
    assert subprocess.run([CURL, "-sS", protocol, url], capture_output=True, timeout=PATIENCE).returncode != 0


@pytest.mark.skipif(not Path(HAPROXY).exists(), reason="haproxy is not installed")
def test_haproxy_before_and_behind(start, tmp_path):
    ports = {name: free_port() for name in ("front1", "front2", "behind")}
    gateway = start({**proxy_to(f"http://127.0.0.1:{ports['behind']}", send_proxy="v2"),
                     "listeners": [{"bind": "127.0.0.1:0", "proxy_protocol": {"trust": ["127.0.0.1"]}}]})
    (tmp_path / "haproxy.cfg").write_text(HAPROXY_CONF.format(gateway=gateway.address[1], **ports))
    server = Server([HAPROXY, "-db", "-f", str(tmp_path / "haproxy.cfg")], list(ports.values()), tmp_path / "haproxy.log")
    server.start()
    try:
        for front, result in (("front1", "v1"), ("front2", "v2")):
            before = gateway.metrics().sum("pontage_proxy_headers_total", result=result)
            gateway.address = ("127.0.0.1", ports[front])
            with gateway.connect() as client:
                host, port = client.socket.getsockname()[:2]
                told = client.request("GET", "/", host="a.example").body.decode().split()
            expected = [host, str(port), "127.0.0.1", str(ports[front])]
            expected += [f"id-{host}-{port}"] if front == "front2" else []
            assert told == [*expected, host]
            assert gateway.metrics().sum("pontage_proxy_headers_total", result=result) == before + 1
    finally:
        server.stop()
