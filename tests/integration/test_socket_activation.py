"""Listening sockets that the service manager hands over (LISTEN_FDS): `bind: fd:NAME`."""
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys

import pytest

from harness import BINARY, PATIENCE, Client, eventually, in_parallel, split_address, to_yaml

pytestmark = pytest.mark.smoke

# Opens what the first argument asks for, as descriptors from 3 on, and becomes the program that the others name.
MANAGER = r"""
import json, os, socket, sys
spec, command = json.loads(sys.argv[1]), sys.argv[2:]
if "--ready-fd" in command:
    at = command.index("--ready-fd") + 1
    os.dup2(int(command[at]), 200)
    command[at] = "200"
opened = []
for one in spec["sockets"]:
    if "unix" in one:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.bind(one["unix"])
    else:
        kind = socket.SOCK_DGRAM if one.get("datagrams") else socket.SOCK_STREAM
        s = socket.socket(socket.AF_INET, kind)
        s.bind(("127.0.0.1", 0))
    if one.get("listen", True) and not one.get("datagrams"):
        s.listen(100)
    opened.append(os.dup2(s.fileno(), 100 + len(opened)))
for i, fd in enumerate(opened):
    os.dup2(fd, 3 + i, inheritable=True)
for fd in opened:
    os.close(fd)
os.environ["LISTEN_FDS"] = str(len(opened))
os.environ["LISTEN_PID"] = str(os.getpid() + spec.get("other_pid", 0))
names = [one.get("name", "") for one in spec["sockets"]]
if any(names):
    os.environ["LISTEN_FDNAMES"] = ":".join(names)
os.execv(command[0], command)
"""


def manager(*sockets, **options):
    return [sys.executable, "-c", MANAGER, json.dumps({"sockets": sockets, **options})]


def respond(*binds, **more):
    return {"routes": [{"respond": "hello"}], "listeners": list(binds), **more}


def addresses(gateway, bind):
    line = next(line for line in gateway.lines if line.startswith(f"listener {bind} "))
    return line.split(" ", 2)[2].split(",")


def ask(address):
    if address.startswith("unix:"):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(address[5:])
            s.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            return s.recv(65536)[9:12] == b"200"
    with Client(split_address(address)) as client:
        return client.request("GET", "/").body == b"hello"


def fails(tmp_path, config, *sockets, **options):
    """What `run` says before it gives up."""
    file = tmp_path / "bad.yaml"
    file.write_text(to_yaml(config))
    done = subprocess.run([*manager(*sockets, **options), str(BINARY), "run", "-c", str(file)], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 1, done
    return done.stdout + done.stderr


def test_inherited_sockets_serve(start, tmp_path):
    path = str(tmp_path / "s")
    gateway = start(respond("fd:web", "fd:local"), prefix=manager({"name": "web"}, {"name": "local", "unix": path}))
    assert addresses(gateway, "fd:local") == [f"unix:{path}"]
    for address in (*addresses(gateway, "fd:web"), f"unix:{path}"):
        assert all(in_parallel(8, lambda _, address=address: ask(address)))
    gateway.stop()
    assert os.path.exists(path)  # it is the service manager's


def test_all_sockets_of_a_name_are_one_listener(start, tmp_path):
    path = str(tmp_path / "s")
    gateway = start(respond("fd:web", workers=1), prefix=manager({"name": "web", "unix": path}, {"name": "web"}, {"name": "web"}))
    bound = addresses(gateway, "fd:web")
    assert len(set(bound)) == 3 and all(map(ask, bound))
    gateway.counts(3, "pontage_requests_total", listener="fd:web")


def test_sockets_without_names_are_called_unknown(start):
    gateway = start(respond("fd:unknown"), prefix=manager({}))
    assert ask(addresses(gateway, "fd:unknown")[0])


def test_all_workers_serve_what_one_accepts(start):
    gateway = start(respond("fd:web", workers=3), prefix=manager({"name": "web"}))
    address = split_address(addresses(gateway, "fd:web")[0])
    clients = [Client(address) for _ in range(9)]
    for client in clients:
        assert client.request("GET", "/").body == b"hello"
        client.close()


def test_a_reload_keeps_the_sockets_and_may_take_them_up_again(start):
    gateway = start(respond("fd:web", "fd:more"), prefix=manager({"name": "web"}, {"name": "more"}, {"name": "unused"}))
    web, more = addresses(gateway, "fd:web")[0], addresses(gateway, "fd:more")[0]
    count = gateway.descriptors()
    for _ in range(3):
        gateway.reload()
        assert ask(web) and ask(more)
    gateway.reload(respond("fd:web"))
    assert ask(web)
    with Client(split_address(more)) as waiting:  # its socket still listens: nobody is refused
        waiting.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert waiting.silent()
        gateway.reload(respond("fd:web", "fd:more"))
        assert waiting.read_response().body == b"hello"
    eventually(lambda: gateway.descriptors() <= count, f"{count} descriptors again, not {gateway.descriptors()}")
    gateway.reload(respond("fd:web", "fd:none"), good=False)
    assert "no socket of that name" in gateway.output() and ask(web) and ask(more)


def test_what_is_missing_or_unfit_is_named(tmp_path):
    said = fails(tmp_path, respond("fd:web"), {"name": "http"}, {"name": "other"})
    assert "fd:web" in said and "there are: http, other" in said
    assert "nor any other" in fails(tmp_path, respond("fd:web"))
    assert "does not listen" in fails(tmp_path, respond("fd:web"), {"name": "web", "listen": False})
    assert "no stream socket" in fails(tmp_path, respond("fd:web"), {"name": "web", "datagrams": True})
    # What is for another process is not taken.
    assert "nor any other" in fails(tmp_path, respond("fd:web"), {"name": "web"}, other_pid=1)


def test_check_needs_no_sockets(tmp_path):
    file = tmp_path / "fd.yaml"
    for bind, good in (("fd:web", True), ("fd:pontage.socket", True), ("fd:", False), ("fd:a b", False), ("fd:a:b", False)):
        file.write_text(to_yaml(respond(bind)))
        done = subprocess.run([BINARY, "check", "-c", file], capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode == 0) == good, (bind, done.stderr)


def test_programs_inherit_neither_sockets_nor_variables(start, tmp_path):
    script = tmp_path / "cgi" / "show"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nenv\nls -l /proc/$$/fd\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    # One that is in use, and one that is only kept.
    gateway = start({"listeners": ["fd:web"], "routes": [{"path": "/cgi/*", "cgi": {"root": str(script.parent)}}]},
                    prefix=manager({"name": "web"}, {"name": "kept"}))
    with Client(split_address(addresses(gateway, "fd:web")[0])) as client:
        body = client.request("GET", "/cgi/show").body.decode()
    assert "REQUEST_METHOD=GET" in body and "LISTEN_" not in body and "socket:" not in body


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_sockets_outlive_the_change_of_user(start):
    gateway = start(respond("fd:web", user="nobody"), prefix=manager({"name": "web"}))
    assert ask(addresses(gateway, "fd:web")[0])


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="systemd-socket-activate is not installed")
def test_systemd_hands_sockets_over(tmp_path):
    file, path = tmp_path / "g.yaml", tmp_path / "s"
    file.write_text(to_yaml({"workers": 2, **respond("fd:web")}))
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(["systemd-socket-activate", "-l", path, "--fdname=web", BINARY, "run", "-c", file],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        eventually(path.exists, "systemd to listen")
        assert ask(f"unix:{path}") and ask(f"unix:{path}")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, (tmp_path / "log").read_text()
    finally:
        process.kill()
        process.wait()
