"""Real servers behind the gateway: Debian's Tomcat 10, nginx, PHP-FPM, uWSGI and fcgiwrap, in folders of their own."""
import json
import os
import random
import shutil
import signal
import socket
import string
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from harness import BINARY, Gateway, eventually  # noqa: E402

HERE = Path(__file__).parent
CATALINA = Path("/usr/share/tomcat10")
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin"
FPM = shutil.which("php-fpm8.2", path=SBIN) or shutil.which("php-fpm", path=SBIN)
UWSGI = shutil.which("uwsgi", path=SBIN)
FCGIWRAP = shutil.which("fcgiwrap", path=SBIN)


def pytest_collection_modifyitems(items):
    if not BINARY.exists():
        raise pytest.UsageError(f"{BINARY} is not built; set PONTAGE_BIN or run tests/run.sh")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def listens(place):
    """Whether somebody accepts connections at `place`: a port, or the path of a socket."""
    try:
        if isinstance(place, int):
            socket.create_connection(("127.0.0.1", place), 1).close()
        else:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(1)
                s.connect(str(place))
        return True
    except OSError:
        return False


def answers(port, question, start):
    """Whether the server at `port` answers `question` within a second with bytes that begin with `start`."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as s:
            s.sendall(question)
            return s.recv(len(start)) == start
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

    def wait_ready(self):
        """Tomcat's ports accept connections long before anybody answers there: it binds them first and starts them last."""
        super().wait_ready()
        for port in (self.ajp, self.ajp_secret, self.ajp_large):
            eventually(lambda port=port: answers(port, b"\x12\x34\x00\x01\x0a", b"\x41\x42\x00\x01\x09"), "a CPONG", 90)
        eventually(lambda: answers(self.http, b"OPTIONS * HTTP/1.0\r\n\r\n", b"HTTP/1.1 "), "an HTTP answer", 90)


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




class Workers(Server):
    """A server of several processes, at a socket in its folder or, with `tcp`, at a free port."""

    def __init__(self, folder, scheme, tcp, log, env=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.scheme, self.tcp = folder, scheme, tcp
        self.place = None
        super().__init__(None, [], folder / log, env)

    def make_command(self, address):
        raise NotImplementedError

    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.place}" if self.tcp else f"{self.scheme}+unix:{self.place}"

    def begin(self):
        """The first start: finds a place that nobody has."""
        for attempt in range(5):
            self.place = free_port() if self.tcp else self.folder / "server.sock"
            self.command = self.make_command(f"127.0.0.1:{self.place}" if self.tcp else str(self.place))
            self.ports = [self.place]
            try:
                self.start()
                return self
            except AssertionError:
                self.kill()
                if not self.tcp or attempt == 4:
                    raise

    def kill(self):
        """Ends every process of it at once, as a crash would. They are a process group of their own."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def stop(self):
        super().stop()
        self.kill()


FPM_CONFIG = string.Template("""
[global]
daemonize = no
error_log = $folder/fpm.log
[www]
$user
listen = $address
listen.mode = 0666
listen.backlog = $backlog
pm = static
pm.max_children = $children
pm.max_requests = $requests
pm.status_path = /status
pm.status_listen = $folder/status.sock
security.limit_extensions = .php .phtml
php_admin_value[post_max_size] = 0
php_admin_value[memory_limit] = 256M
php_admin_value[opcache.enable] = 0
php_admin_flag[log_errors] = on
""")


class Fpm(Workers):
    """A PHP-FPM master with `children`, each of which serves `requests` before another takes its place (0: forever)."""

    def __init__(self, folder, children=2, requests=0, backlog=128, tcp=False):
        self.settings = dict(children=children, requests=requests, backlog=backlog, folder=folder)
        super().__init__(folder, "fastcgi", tcp, "fpm.out")

    def make_command(self, address):
        root = os.geteuid() == 0  # then its children need a user, and -R when that is root: the tests' folders are ours
        text = FPM_CONFIG.substitute(self.settings, address=address, user="user = root\ngroup = root" if root else "")
        (self.folder / "fpm.conf").write_text(text)
        return [FPM, "--nodaemonize", "--fpm-config", str(self.folder / "fpm.conf"), *(["-R"] if root else [])]

    def status(self):
        """FPM's own page, answered by a process of its own: busy children do not delay it."""
        return json.loads(fastcgi_get(self.folder / "status.sock", "/status", "json"))

    def idle(self):
        return self.status()["active processes"] == 0


def fastcgi_get(path, script, query):
    """The body of one FastCGI answer, asked for by hand, without a gateway."""
    def record(kind, data=b""):
        return struct.pack(">BBHHBB", 1, kind, 1, len(data), 0, 0) + data
    variables = dict(REQUEST_METHOD="GET", SCRIPT_NAME=script, SCRIPT_FILENAME=script, QUERY_STRING=query)
    pairs = b"".join(bytes([len(n), len(v)]) + f"{n}{v}".encode() for n, v in variables.items())
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(str(path))
        s.sendall(record(1, b"\0\1\0\0\0\0\0\0") + record(4, pairs) + record(4) + record(5))
        got = b""
        while data := s.recv(65536):
            got += data
    out = b""
    while got:
        _, kind, _, size, padding, _ = struct.unpack(">BBHHBB", got[:8])
        if kind == 6:
            out += got[8:8 + size]
        got = got[8 + size + padding:]
    return out.partition(b"\r\n\r\n")[2]


BIG = 50 << 20


@pytest.fixture(scope="session")
def big():
    return random.Random(BIG).randbytes(BIG)


@pytest.fixture(scope="session")
def php_root(tmp_path_factory, big):
    """The scripts of tests/interop/php, some under further names, and big.bin."""
    if not FPM:
        pytest.skip("php-fpm is not installed")
    root = tmp_path_factory.mktemp("php") / "root"
    shutil.copytree(HERE / "php", root)
    for name in ("index.php", "sub/server.php", "sub/index.php", "sub/other.phtml", "page.phtml", "sp ace/s\u00e9.php",
                 "two.php.php", "start.phtml"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(root / "server.php", root / name)
    (root / "big.bin").write_bytes(big)
    return root


@pytest.fixture
def start_fpm(tmp_path, php_root):
    """start_fpm(children=2, ...) -> Fpm, stopped after the test."""
    yield from _started(lambda n, **options: Fpm(tmp_path / f"fpm{n}", **options))


class Uwsgi(Workers):
    """uWSGI with tests/interop/wsgi.py in two processes, for one of the protocols uwsgi, scgi and fastcgi."""

    OPTIONS = {"uwsgi": "--socket", "scgi": "--scgi-socket", "fastcgi": "--fastcgi-socket"}

    def __init__(self, folder, scheme, *options, tcp=False):
        self.options = options
        super().__init__(folder, scheme, tcp, "uwsgi.log", {"PROBE_FOLDER": str(folder)})

    def make_command(self, address):
        return [UWSGI, "--plugin", "python3", self.OPTIONS[self.scheme], address, "--wsgi-file", str(HERE / "wsgi.py"),
                "--need-app", "--processes", "2", "--disable-logging", "--die-on-term", *self.options]


@pytest.fixture
def start_uwsgi(tmp_path):
    """start_uwsgi(protocol, *options, tcp=False) -> Uwsgi, stopped after the test."""
    need_uwsgi()
    yield from _started(lambda n, *args, **options: Uwsgi(tmp_path / f"uwsgi{n}", *args, **options))


def need_uwsgi():
    if not UWSGI or not Path("/usr/lib/uwsgi/plugins/python3_plugin.so").exists():
        pytest.skip("uwsgi or its python3 plugin is not installed")


class Fcgiwrap(Workers):
    """fcgiwrap, which runs CGI scripts for FastCGI and passes on whatever they write."""

    def __init__(self, folder, tcp=False):
        super().__init__(folder, "fastcgi", tcp, "fcgiwrap.log")

    def make_command(self, address):
        return [FCGIWRAP, "-f", "-c", "2", "-s", f"tcp:{address}" if self.tcp else f"unix:{address}"]


@pytest.fixture(scope="session")
def fcgiwrap(tmp_path_factory):
    if not FCGIWRAP:
        pytest.skip("fcgiwrap is not installed")
    server = Fcgiwrap(tmp_path_factory.mktemp("fcgiwrap")).begin()
    yield server
    server.stop()


def _started(make):
    running = []

    def begin(*args, **options):
        running.append(make(len(running), *args, **options))
        return running[-1].begin()
    yield begin
    for server in running:
        server.stop()
