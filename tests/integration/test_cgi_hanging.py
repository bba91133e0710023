"""CGI programs that hang: in their launch, in their body, outside their group (ADAPTERS C4 to C7)."""
import fcntl
import os
import shutil
import signal

import pytest

from harness import SCALE, Gateway, eventually
from test_cgi_scripts import SHORT, alive, children, noted, text, write_script

pytestmark = pytest.mark.smoke

SCRIPTS = {
    "hello": "printf 'Content-Type: text/plain\\n\\nhello'",
    "stdio": "printf 'Content-Type: text/plain\\n\\n'; cat /dev/stdin > /dev/stdout; echo said > /dev/stderr",
    "empty": "exit 0",
    "silent": "echo $$ > pids/silent; sleep 300 & wait",
}
PERL = """#!/usr/bin/perl
setpgrp(0, getpgrp(getppid()));
open(my $note, '>', 'pids/moved'); print $note $$; close($note);
sleep(300) while 1;
"""
PROCESSES = ("pontage_backend_connections", {"state": "busy"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("scripts")
    for name, script in SCRIPTS.items():
        write_script(root / name, script)
    (root / "moved").write_text(PERL)
    (root / "moved").chmod(0o755)
    (root / "pids").mkdir()
    (root / "file.txt").write_text("a file")
    return root


@pytest.fixture(autouse=True)
def forgotten(folder):
    for note in (folder / "pids").iterdir():
        note.unlink()


def start(tmp_path, folder, prefix=(), **more):
    def cgi(path, **options):
        request = {k: options.pop(k) for k in ("request_buffering",) if k in options}
        return {"path": f"{path}/*", **request, "cgi": {"root": str(folder), **options}}
    config = {"workers": 1, "routes": [
        cgi("/cgi"), cgi("/raw", request_buffering="off"), cgi("/one", max=1),
        cgi("/hasty", timeouts={"first_byte": SHORT, "idle": SHORT, "kill": SHORT}), {"path": "/*", "files": str(folder)}]}
    return Gateway(tmp_path, {**config, **more}, prefix=prefix)


@pytest.fixture
def front(tmp_path, folder):
    gateway = start(tmp_path, folder)
    yield gateway
    assert gateway.alive(), gateway.output()
    gateway.stop()


class Held:
    """A script whose execve waits: who opens a file on which somebody holds a lease waits until it is given up."""

    def __init__(self, folder):
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # by which the kernel asks for it
        self.path = folder / "held"
        write_script(self.path, "printf 'Content-Type: text/plain\\n\\nlate'")
        self.file = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            os.close(self.file)
            pytest.skip("no leases here")

    def wanted(self):
        return fcntl.fcntl(self.file, fcntl.F_GETLEASE) != fcntl.F_WRLCK

    def close(self):
        os.close(self.file)


@pytest.fixture
def held(folder):
    script = Held(folder)
    yield script
    script.close()


def ask(front, path):
    client = front.connect()
    client.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
    return client


def busy(front, count):
    front.counts(count, PROCESSES[0], **PROCESSES[1])


def test_c6_a_launch_that_hangs_is_a_504_and_ends(front, held):
    assert front.get("/hasty/held").status == 504
    busy(front, 0)
    eventually(lambda: not children(front), "its process to be gone")


def test_c6_c7_who_leaves_during_a_launch_leaves_its_place(front, held):
    client = ask(front, "/one/held")
    eventually(held.wanted, "the launch")
    busy(front, 1)
    client.reset()
    assert text(front, "/one/hello") == "hello"  # the one place
    busy(front, 0)
    eventually(lambda: not children(front), "its process to be gone")


def test_c7_a_launch_that_nobody_waits_for_holds_its_place_while_it_lasts(front, held):
    """What hangs already may take the place of a launch that has not begun."""
    clients = [ask(front, "/cgi/held") for _ in range(8)]
    busy(front, 8)
    for client in clients:
        client.reset()
    busy(front, 0)
    eventually(lambda: not children(front), "their processes to be gone")
    assert text(front, "/cgi/hello") == "hello"


def test_launches_that_hang_hinder_no_files(front, held):
    clients = [ask(front, "/cgi/held") for _ in range(8)]
    busy(front, 8)
    eventually(held.wanted, "a launch")
    assert front.get("/file.txt").body == b"a file"
    for client in clients:
        client.reset()
    busy(front, 0)


def test_c6_the_end_of_the_gateway_ends_launches(tmp_path, folder, held):
    gateway = start(tmp_path, folder, shutdown={"deadline": "100ms"})
    with ask(gateway, "/cgi/held"):
        eventually(held.wanted, "the launch")
        left = children(gateway)
        gateway.signal(signal.SIGTERM)
        assert gateway.wait(10 * SCALE) == 0
    assert left and not any(alive(int(pid)) for pid in left)


@pytest.mark.parametrize("route, size", [("cgi", 10), ("cgi", 3_000_000), ("raw", 10), ("raw", 3_000_000)])
def test_c5_a_script_that_ends_without_its_body_and_an_answer_is_a_502(front, route, size):
    assert front.request("POST", f"/{route}/empty", body=b"b" * size).status == 502


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_c6_a_script_that_neither_reads_nor_answers_is_a_504(front, folder, size):
    assert front.request("POST", "/hasty/silent", body=b"b" * size).status == 504
    pid = noted(folder, "silent")
    eventually(lambda: not alive(pid), "its end")


@pytest.mark.skipif(not shutil.which("perl"), reason="no perl")
def test_c4_c6_a_script_that_leaves_its_group_is_killed_too(front, folder):
    assert front.get("/hasty/moved").status == 504
    pid = noted(folder, "moved")
    eventually(lambda: not alive(pid), "its end")
    busy(front, 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_c4_a_gateway_without_standard_streams_runs_scripts(tmp_path, folder, closed):
    gateway = start(tmp_path, folder, prefix=("sh", "-c", f'exec "$0" "$@" {closed}'))
    try:
        assert text(gateway, "/cgi/stdio", method="POST", body=b"through") == "through"
    finally:
        gateway.stop()


def test_a_gateway_with_few_descriptors_serves_all_but_scripts(tmp_path, folder):
    gateway = start(tmp_path, folder, prefix=("prlimit", "--nofile=128:128"))
    try:
        assert gateway.get("/file.txt").body == b"a file"
        assert gateway.get("/cgi/hello").status == 503
        busy(gateway, 0)
    finally:
        gateway.stop()
