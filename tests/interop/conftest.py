"""Real servers behind the gateway: Debian's Tomcat 10 and nginx, started on free ports in folders of their own."""
import os
import shutil
import signal
import socket
import string
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from harness import BINARY, Gateway, eventually  # noqa: E402

HERE = Path(__file__).parent
CATALINA = Path("/usr/share/tomcat10")
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"


def pytest_collection_modifyitems(items):
    if not BINARY.exists():
        raise pytest.UsageError(f"{BINARY} is not built; set PONTAGE_BIN or run tests/run.sh")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Server:
    """A foreign server process; starts in start(), is ready when its ports listen."""

    def __init__(self, command, ports, log, env=None):
        self.command, self.ports, self.log, self.env = command, ports, log, env
        self.process = None

    def start(self, wait=True):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            env={**os.environ, **(self.env or {})}, start_new_session=True)
        if wait:
            self.wait_ready()

    def wait_ready(self):
        def ready():
            assert self.process.poll() is None, Path(self.log).read_text(errors="replace")[-3000:]
            return all(listens(p) for p in self.ports)
        eventually(ready, f"{self.command[0]} to listen", 90)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Tomcat(Server):
    """A Tomcat of its own with the probe servlet; `ajp` without a secret, `ajp_secret` wants "toll", `ajp_large` takes 64 KiB packets."""

    def __init__(self, base, classes, route):
        self.route = route
        self.ajp, self.ajp_secret, self.ajp_large, self.http = (free_port() for _ in range(4))
        for folder in ("conf", "logs", "temp", "webapps", "work", "app/WEB-INF"):
            (base / folder).mkdir(parents=True)
        values = dict(ROUTE=route, AJP=self.ajp, AJP_SECRET=self.ajp_secret, AJP_LARGE=self.ajp_large, HTTP=self.http, APP=base / "app")
        (base / "conf/server.xml").write_text(string.Template((HERE / "tomcat/server.xml").read_text()).substitute(values))
        shutil.copy("/etc/tomcat10/web.xml", base / "conf/web.xml")
        shutil.copy(HERE / "tomcat/web.xml", base / "app/WEB-INF/web.xml")
        shutil.copytree(classes, base / "app/WEB-INF/classes")
        super().__init__([str(CATALINA / "bin/catalina.sh"), "run"], [self.ajp, self.ajp_secret, self.ajp_large, self.http],
                         base / "tomcat.log", dict(CATALINA_HOME=str(CATALINA), CATALINA_BASE=str(base),
                                                   CATALINA_OPTS="-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"))


@pytest.fixture(scope="session")
def tomcats(tmp_path_factory):
    """Two Tomcats with the jvmRoutes a and b."""
    if not (CATALINA / "bin/catalina.sh").exists() or not shutil.which("javac"):
        pytest.skip("tomcat10 or javac is not installed")
    folder = tmp_path_factory.mktemp("tomcat")
    classes = folder / "classes"
    subprocess.run(["javac", "-cp", str(CATALINA / "lib/servlet-api.jar"), "-d", str(classes), str(HERE / "tomcat/Probe.java")],
                   check=True, timeout=120)
    servers = [Tomcat(folder / route, classes, route) for route in ("a", "b")]
    for server in servers:
        server.start(wait=False)
    for server in servers:
        server.wait_ready()
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def nginx(tmp_path_factory):
    if not Path(NGINX).exists():
        pytest.skip("nginx is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    folder.chmod(0o755)
    (folder / "www").mkdir()
    for name, size in (("small.txt", 20), ("3k.txt", 3072), ("1m.bin", 1 << 20), ("40m.bin", 40 << 20)):
        (folder / "www" / name).write_bytes(bytes(i * 31 % 251 for i in range(min(size, 4096))) * (size // 4096) or b"text " * (size // 5))
    port = free_port()
    config = string.Template((HERE / "nginx.conf").read_text()).safe_substitute(RUN=folder, PORT=port)
    (folder / "nginx.conf").write_text(config)
    server = Server([NGINX, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")], [port], folder / "nginx.log")
    server.folder, server.port = folder, port
    server.start()
    yield server
    server.stop()


@pytest.fixture
def start(tmp_path):
    running = []

    def begin(config, **options):
        running.append(Gateway(tmp_path, config, name=f"gateway{len(running)}", **options))
        return running[-1]
    yield begin
    for process in running:
        process.stop()


