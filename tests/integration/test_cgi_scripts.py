"""CGI programs in sh, perl and C (ADAPTERS section 4; the ids are those of that list)."""
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import threading
import time

import pytest

from harness import SCALE, Gateway, amount, eventually, in_parallel, run_cli

pytestmark = pytest.mark.smoke
SHORT = f"{300 * SCALE}ms"
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

SCRIPTS = {
    "hello": "printf 'Content-Type: text/plain\\n\\nhello'",
    "env": "printf 'Content-Type: text/plain\\n\\n'; exec env",
    "where": "printf 'Content-Type: text/plain\\n\\n'; echo $0 $#; pwd; ls -l /proc/self/fd | wc -l; ls /proc/$$/fd | tr '\\n' ' '",
    "signals": "printf 'Content-Type: text/plain\\n\\n'; grep -E 'Sig(Blk|Ign)' /proc/self/status; cut -d' ' -f1,5 /proc/$$/stat",
    "stdio": "printf 'Content-Type: text/plain\\n\\n'; cat /dev/stdin > /dev/stdout; echo said > /dev/stderr",
    "noisy": "head -c 1048576 /dev/zero | tr '\\0' e >&2; printf 'Content-Type: text/plain\\n\\nafter noise'",
    "eager": "printf 'Content-Type: application/octet-stream\\n\\n'; head -c 1048576 /dev/zero; cat | wc -c",
    "deaf": "exec <&-; printf 'Content-Type: text/plain\\n\\ndeaf'",
    "lingers": "printf 'Content-Type: text/plain\\n\\n%d' $$; exec >&- 2>&-; read x < fifo",
    "leaves": "printf 'Content-Type: text/plain\\n\\n'; sleep 300 & printf %d $!",
    "empty": "exit 0",
    "only-stderr": "echo something broke >&2; exit 4",
    "dies": "kill -9 $$",
    "dies-late": "printf 'Content-Type: text/plain\\n\\nhalf'; kill -9 $$",
    "nonsense": "echo there is no head here",
    "no-type": "printf 'X-Odd: 1\\n\\nbody'",
    "status": "printf 'Status: 404 Not Here\\nContent-Type: text/plain\\n\\ngone'",
    "bad-status": "printf 'Status: abc\\nContent-Type: text/plain\\n\\n'",
    "interim": "printf 'Status: 103 Early\\nContent-Type: text/plain\\n\\n'",
    "location": "printf 'Location: https://www.example.org/\\n\\n'",
    "local": "printf 'Location: /other\\n\\n'",
    "nph-line": "printf 'HTTP/1.1 201 Made\\r\\nContent-Type: text/plain\\r\\n\\r\\nnph'",
    "sendfile": "printf 'Content-Type: text/plain\\nX-Sendfile: /etc/passwd\\nX-Accel-Redirect: /x\\n\\nmine'",
    "huge-head": "printf 'Content-Type: text/plain\\nX-Huge: '; head -c 200000 /dev/zero | tr '\\0' x; printf '\\n\\n'",
    "short": "printf 'Content-Type: text/plain\\nContent-Length: 100\\n\\nfew'",
    "long": "printf 'Content-Type: text/plain\\nContent-Length: 3\\n\\nthree and more'",
    "count": "printf 'Content-Type: text/plain\\n\\n'; printf '%s ' $CONTENT_LENGTH; sha256sum",
    "silent": "echo $$ > pids/silent; sleep 300 & echo $! > pids/silent-child; wait",
    "stubborn": "trap '' TERM; echo $$ > pids/stubborn; while :; do sleep 300; done",
    "stream": "echo $$ > pids/stream; printf 'Content-Type: text/plain\\n\\nfirst\\n'; sleep 300 & echo $! > pids/stream-child; wait",
    "gate": "printf 'Content-Type: text/plain\\n\\n'; echo $$ > pids/gate; read x < fifo; echo done",
    "id": "printf 'Content-Type: text/plain\\n\\n'; id -u; id -g; id -G",
    "limits": "printf 'Content-Type: text/plain\\n\\n'; ulimit -t; ulimit -v; ulimit -n; ulimit -f",
    "sub/deep": "printf 'Content-Type: text/plain\\n\\n'; echo \"$SCRIPT_NAME|$PATH_INFO|$PATH_TRANSLATED|$SCRIPT_FILENAME\"; pwd",
    "index.cgi": "printf 'Content-Type: text/plain\\n\\nindex'",
    ".hidden": "printf 'Content-Type: text/plain\\n\\nhidden'",
}

C_SCRIPT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  (void)argv;
  const char *length = getenv("CONTENT_LENGTH");
  long left = length ? atol(length) : 0, sum = 0;
  char room[65536];
  ssize_t got;
  while (left > 0 && (got = read(0, room, sizeof room)) > 0) { left -= got; for (ssize_t i = 0; i < got; ++i) sum += (unsigned char)room[i]; }
  printf("Content-Type: text/plain\r\n\r\n%d %ld %ld", argc, left, sum);
  return 0;
}
"""

PERL_SCRIPT = """print "Content-Type: text/plain\\n\\nperl $ENV{REQUEST_METHOD} $0";"""


def write_script(path, text, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(mode)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("scripts")
    for name, text in SCRIPTS.items():
        write_script(root / name, text)
    (root / "pids").mkdir()
    os.mkfifo(root / "fifo")
    write_script(root / "plain", "echo not run", 0o644)
    (root / "perl.pl").write_text(PERL_SCRIPT)
    outside = root.parent / f"outside-{root.name}"
    write_script(outside, "printf 'Content-Type: text/plain\\n\\noutside'")
    (root / "leads-out").symlink_to(outside)
    (root / "alias").symlink_to("hello")
    (root / "no-program").write_text("#!/does/not/exist\n")
    (root / "no-program").chmod(0o755)
    for parent in [root, *root.parents]:  # a script's user must reach it
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp"):
            parent.chmod(parent.stat().st_mode | 0o755)
    (root / "pids").chmod(0o777)
    return root


def routes(root, **more):
    cgi = {"root": str(root), "script_name": None}
    def route(path, **options):
        request = {k: options.pop(k) for k in ("request_buffering", "encoded_slash") if k in options}
        return {"path": f"{path}/*", **request,
                "cgi": {k: v for k, v in {**cgi, **more, **options}.items() if v is not None}}
    return [route("/cgi"), route("/raw", request_buffering="off"), route("/hasty", timeouts={"first_byte": SHORT, "kill": SHORT}),
            route("/total", timeouts={"total": SHORT, "kill": SHORT}), route("/one", max=1, queue={"length": 1, "timeout": SHORT}),
            route("/set", index="index.cgi", interpreters={".pl": shutil.which("perl") or "/usr/bin/perl"}, authorization=True,
                  params={"APP_ENV": "test"}, pass_env=["PONTAGE_TEST_VARIABLE"]),
            route("/idle", timeouts={"idle": SHORT, "kill": SHORT}), route("/slash", encoded_slash="allow")]


@pytest.fixture(scope="module")
def front(tmp_path_factory, folder):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), {"workers": 1, "routes": routes(folder)},
                      env={"PONTAGE_TEST_VARIABLE": "passed on", "PONTAGE_SECRET": "never"})
    yield gateway
    assert gateway.alive(), gateway.output()
    gateway.stop()


def text(front, path, method="GET", **options):
    response = front.request(method, path, **options)
    assert response.status == 200 and not response.truncated, response
    return response.body.decode()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(gateway):
    with open(f"/proc/{gateway.pid}/task/{gateway.pid}/children") as own:
        found = own.read().split()
    for task in os.listdir(f"/proc/{gateway.pid}/task"):
        with open(f"/proc/{gateway.pid}/task/{task}/children") as own:
            found += own.read().split()
    return set(found)


def noted(folder, name):
    """The process id a script wrote down."""
    path = folder / "pids" / name
    return int(eventually(lambda: path.exists() and path.read_text().strip(), f"{name} to run"))


@pytest.fixture(autouse=True)
def forgotten(folder):
    for note in (folder / "pids").iterdir():
        note.unlink()


# --- responses (C1, C2, C3, C9)

@pytest.mark.parametrize("script, status, body", [
    ("hello", 200, b"hello"), ("status", 404, b"gone"), ("nph-line", 201, b"nph"), ("sendfile", 200, b"mine"),
    ("long", 200, b"thr")])
def test_c1_c3_a_response_is_passed_on(front, script, status, body):
    response = front.get(f"/cgi/{script}")
    assert (response.status, response.body, response.truncated) == (status, body, False)
    for name in ("Status", "X-Sendfile", "X-Accel-Redirect"):
        assert response.header(name) is None


@pytest.mark.parametrize("script, where", [("location", "https://www.example.org/"), ("local", "/other")])
def test_c2_a_location_alone_is_a_302(front, script, where):
    response = front.get(f"/cgi/{script}")
    assert (response.status, response.header("Location"), response.body) == (302, where, b"")


@pytest.mark.parametrize("script", ["empty", "only-stderr", "dies", "nonsense", "no-type", "bad-status", "interim", "huge-head",
                                    "no-program"])
def test_c1_x7_what_is_no_response_is_a_502(front, script):
    assert front.get(f"/cgi/{script}").status == 502


def test_p22_the_log_says_why(front):
    front.get("/cgi/only-stderr")
    eventually(lambda: "something broke" in front.output(), "the script's words in the log")


def test_head_gets_no_body(front):
    response = front.request("HEAD", "/cgi/hello")
    assert response.status == 200 and response.body == b""


@pytest.mark.parametrize("script", ["short", "dies-late"])
def test_c5_x10_an_answer_cut_short_never_looks_whole(front, script):
    response = front.get(f"/cgi/{script}")
    # Found before the head had left it is a 502.
    assert response.status == 502 or (response.status == 200 and response.truncated), response


# --- the process (C4)

def test_c4_the_environment_is_exactly_the_requests(front):
    names = {line.split("=", 1)[0] for line in text(front, "/cgi/env/a%20b?x=1").splitlines()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH", "GATEWAY_INTERFACE", "SERVER_SOFTWARE", "SERVER_NAME", "SERVER_ADDR", "SERVER_PORT", "SERVER_PROTOCOL",
        "REQUEST_METHOD", "REQUEST_URI", "REQUEST_SCHEME", "QUERY_STRING", "SCRIPT_NAME", "SCRIPT_FILENAME", "DOCUMENT_ROOT",
        "PATH_INFO", "PATH_TRANSLATED", "REMOTE_ADDR", "REMOTE_PORT", "REDIRECT_STATUS", "HTTP_HOST", "HTTP_VIA",
        "HTTP_X_REQUEST_ID", "HTTP_TRACEPARENT"} | {n for n in names if n.startswith("HTTP_X_FORWARDED_")}
    values = dict(line.split("=", 1) for line in text(front, "/cgi/env/a%20b?x=1").splitlines())
    assert (values["PATH_INFO"], values["QUERY_STRING"], values["SCRIPT_NAME"]) == ("/a b", "x=1", "/cgi/env")


def test_e3_dangerous_fields_make_no_variable(front):
    lines = text(front, "/cgi/env", headers={"Proxy": "http://evil", "Authorization": "Basic eA==", "X_Odd": "1",
                                             "Redirect-Status": "1", "X-Good": "yes"}).splitlines()
    names = {line.split("=", 1)[0] for line in lines}
    assert "HTTP_X_GOOD" in names
    assert not names & {"HTTP_PROXY", "HTTP_AUTHORIZATION", "HTTP_X_ODD", "HTTP_REDIRECT_STATUS", "PONTAGE_SECRET",
                        "CONTENT_LENGTH"}


def test_c4_params_and_passed_variables_are_there_when_asked_for(front):
    lines = text(front, "/set/env", headers={"Authorization": "Basic eA=="}).splitlines()
    assert {"APP_ENV=test", "PONTAGE_TEST_VARIABLE=passed on", "HTTP_AUTHORIZATION=Basic eA=="} <= set(lines)


def test_c4_no_arguments_its_own_folder_and_three_descriptors(front, folder):
    name, cwd, _, fds = text(front, "/cgi/where?-s+-d").splitlines()
    assert (name, cwd) == (f"{folder}/where 0", str(folder))
    assert set(fds.split()) <= {"0", "1", "2", "10", "255"}  # the shell keeps its script under a number of its own


def test_c4_signals_are_as_after_login_and_the_group_is_its_own(front):
    *masks, ids = text(front, "/cgi/signals").splitlines()
    assert {m.split()[0]: int(m.split()[1], 16) for m in masks} == {"SigBlk:": 0, "SigIgn:": 0}
    pid, group = ids.split()
    assert pid == group


def test_c4_inherited_descriptors_do_not_reach_scripts(tmp_path, folder):
    gateway = Gateway(tmp_path, {"workers": 1, "routes": routes(folder)}, prefix=("sh", "-c", 'exec 7</etc/hostname "$0" "$@" 7<&7'))
    try:
        assert "7" not in text(gateway, "/cgi/where").splitlines()[3].split()
    finally:
        gateway.stop()


def test_a_script_may_open_dev_stdin_and_stdout(front):
    assert text(front, "/cgi/stdio", method="POST", body=b"through") == "through"
    eventually(lambda: "said" in front.output(), "its word in the log")


# --- three pipes at once, and their ends (C5)

def test_c5_a_megabyte_of_errors_before_the_answer_blocks_nobody(front):
    assert text(front, "/cgi/noisy") == "after noise"


@pytest.mark.parametrize("route", ["cgi", "raw"])
def test_c5_an_answer_before_the_body_was_read_blocks_nobody(front, route):
    body = text(front, f"/{route}/eager", method="POST", body=b"b" * 3_000_000)
    assert len(body) > 1 << 20 and body[1 << 20:].strip() == "3000000"


@pytest.mark.parametrize("route", ["cgi", "raw"])
def test_c5_a_script_that_never_reads_its_body_has_answered(front, route):
    assert text(front, f"/{route}/deaf", method="POST", body=b"b" * 3_000_000) == "deaf"


def test_c5_a_script_may_close_its_output_and_go_on(front, folder):
    began = time.monotonic()
    pid = int(text(front, "/cgi/lingers"))
    assert time.monotonic() - began < 5 * SCALE
    assert alive(pid)
    front.counts(1, "pontage_backend_connections", backend="cgi:/cgi/*", state="busy")
    (folder / "fifo").open("w").close()
    eventually(lambda: not alive(pid), "its end")
    front.counts(0, "pontage_backend_connections", backend="cgi:/cgi/*", state="busy")


def test_c5_a_script_that_goes_on_too_long_after_its_answer_is_killed(front):
    pid = int(text(front, "/idle/lingers"))
    eventually(lambda: not alive(pid), "its end")


def test_c5_output_that_a_grandchild_holds_ends_with_the_script(front):
    began = time.monotonic()
    pid = int(text(front, "/cgi/leaves"))
    assert 0.8 < time.monotonic() - began < 10 * SCALE
    assert alive(pid)  # it is what the script left on purpose
    os.kill(pid, signal.SIGKILL)


# --- time and aborts (C6)

def test_c6_no_first_byte_is_a_504_and_the_group_is_gone(front, folder):
    assert front.get("/hasty/silent").status == 504
    for name in ("silent", "silent-child"):
        pid = noted(folder, name)
        eventually(lambda: not alive(pid), f"{name} to be gone")


def test_c6_the_total_is_a_504(front, folder):
    assert front.get("/total/silent").status == 504
    pid = noted(folder, "silent-child")
    eventually(lambda: not alive(pid), "its child to be gone")


def test_c6_the_total_cuts_an_answer_under_way(front):
    response = front.get("/total/stream")
    assert response.status == 200 and response.truncated


def test_c6_who_ignores_sigterm_gets_sigkill(front, folder):
    assert front.get("/hasty/stubborn").status == 504
    pid = noted(folder, "stubborn")
    eventually(lambda: not alive(pid), "its end")
    eventually(lambda: str(pid) not in children(front), "its being waited for")


@pytest.mark.parametrize("script", ["silent", "stream"])
def test_c6_x18_when_the_client_leaves_the_group_goes(front, folder, script):
    with front.connect() as client:
        client.send(f"GET /cgi/{script} HTTP/1.1\r\nHost: x\r\n\r\n")
        pids = [noted(folder, script), noted(folder, f"{script}-child")]
        client.reset()
    for pid in pids:
        eventually(lambda: not alive(pid), f"{pid} to be gone")
    front.counts(0, "pontage_backend_connections", backend="cgi:/cgi/*", state="busy")


def test_c6_a_script_killed_from_outside_is_a_502(front, folder):
    answers = []
    asking = threading.Thread(target=lambda: answers.append(front.get("/cgi/silent").status))
    asking.start()
    pid, child = noted(folder, "silent"), noted(folder, "silent-child")
    os.kill(pid, signal.SIGKILL)
    asking.join()
    assert answers == [502]
    eventually(lambda: not alive(child), "its child to be gone")


def test_c6_the_end_of_the_gateway_leaves_nothing(tmp_path, folder):
    gateway = Gateway(tmp_path, {"workers": 1, "routes": routes(folder), "shutdown": {"deadline": "100ms"}})
    with gateway.connect() as client:
        client.send("GET /cgi/stubborn HTTP/1.1\r\nHost: x\r\n\r\n")
        pid = noted(folder, "stubborn")
        gateway.stop()
    assert not alive(pid)


# --- bodies and places (C7)

@pytest.mark.parametrize("route", ["cgi", "raw"])
@pytest.mark.parametrize("size", [1, 65536, 65537, 3_000_001])
def test_c7_a_body_arrives_whole(front, route, size):
    body = os.urandom(size)
    length, digest = text(front, f"/{route}/count", method="POST", body=body).split()[:2]
    assert (length, digest) == (str(size), hashlib.sha256(body).hexdigest())


@pytest.mark.parametrize("route", ["cgi", "raw"])
def test_c7_a_hundred_megabytes_arrive_whole(front, route):
    body = os.urandom(1 << 20) * (amount(100))
    length, digest = text(front, f"/{route}/count", method="POST", body=body).split()[:2]
    assert (length, digest) == (str(len(body)), hashlib.sha256(body).hexdigest())


def test_c7_p15_a_body_without_a_length_gets_one(front):
    body = os.urandom(200_000)
    length, digest = text(front, "/cgi/count", method="POST", body=body, chunked=True).split()[:2]
    assert (length, digest) == ("200000", hashlib.sha256(body).hexdigest())
    assert front.request("POST", "/raw/count", body=b"x", chunked=True).status == 411


def test_c7_at_most_max_processes_then_a_queue_then_503(front, folder):
    answers = []
    first = threading.Thread(target=lambda: answers.append(front.get("/one/gate").body))
    first.start()
    noted(folder, "gate")
    assert front.get("/one/hello").status == 503  # it waited for its turn
    (folder / "fifo").open("w").close()
    first.join()
    assert answers == [b"done\n"]
    assert text(front, "/one/hello") == "hello"


# --- which file (C8)

@pytest.mark.parametrize("path, status", [
    ("none", 404), ("none/more", 404), (".hidden", 404), ("sub/none", 404), ("sub", 403), ("", 403), ("plain", 403),
    ("leads-out", 403), ("fifo", 403), ("alias", 200), ("sub/deep", 200), ("hello/.git/x", 200)])
def test_c8_what_is_there_and_may_run_is_told_apart(front, path, status):
    assert front.get(f"/cgi/{path}").status == status


def test_c8_nothing_outside_the_folder_is_reached(front, folder):
    for path in ("../x", "%2e%2e/x", "sub/../../x", f"..%2f{folder.parent.name}"):
        assert front.get(f"/slash/{path}").status in (400, 403, 404), path


@pytest.mark.parametrize("path, info", [("", ""), ("/a/b", "/a/b"), ("/a%20b/", "/a b/"), ("/.x/y", "/.x/y"), ("/", "/")])
def test_c8_p32_the_path_splits_at_the_script(front, folder, path, info):
    answer, cwd = text(front, f"/cgi/sub/deep{path}").splitlines()
    translated = f"{folder}{info}" if info else ""
    assert answer == f"/cgi/sub/deep|{info}|{translated}|{folder}/sub/deep"
    assert cwd == f"{folder}/sub"


def test_c8_line_ends_in_the_path_are_400(front):
    assert front.get("/cgi/hello/a%0ab").status == 400


def test_a_folder_has_its_index_and_extensions_their_interpreter(front, folder):
    assert text(front, "/set/") == text(front, "/set") == "index"
    if shutil.which("perl"):
        assert text(front, "/set/perl.pl") == f"perl GET {folder}/perl.pl"


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_compiled_program_serves(front, folder, tmp_path):
    (tmp_path / "c.c").write_text(C_SCRIPT)
    subprocess.run(["cc", "-o", folder / "compiled", tmp_path / "c.c"], check=True)
    assert text(front, "/cgi/compiled", method="POST", body=b"\1\2\3") == "1 0 6"


# --- user and limits

def test_c4_limits_are_the_scripts(tmp_path, folder):
    limits = {"cpu": "7s", "memory": "512MiB", "files": 99, "file_size": "1MiB"}
    gateway = Gateway(tmp_path, {"workers": 1, "routes": routes(folder, limits=limits)})
    try:
        assert text(gateway, "/cgi/limits").split() == ["7", str(512 << 10), "99", "2048"]
    finally:
        gateway.stop()


@ROOT_ONLY
def test_c4_scripts_run_as_their_user(tmp_path, folder):
    nobody = pwd.getpwnam("nobody")
    gateway = Gateway(tmp_path, {"workers": 1, "routes": routes(folder, user="nobody")})
    try:
        user, group, groups = text(gateway, "/cgi/id").splitlines()
        assert (int(user), int(group), groups.split()) == (nobody.pw_uid, nobody.pw_gid, [str(nobody.pw_gid)])
        assert os.stat(f"/proc/{gateway.pid}").st_uid == 0  # the gateway's own threads stayed
    finally:
        gateway.stop()


def test_a_user_that_is_unknown_or_out_of_reach_is_an_error(tmp_path):
    file = tmp_path / "x.yaml"
    for config, word in (("{root: /tmp, user: no-such-user}", "there is no user"), ("{root: /tmp, limits: {cpu: 1500ms}}", "whole seconds")):
        file.write_text(f"listeners: [':0']\nroutes: [{{path: /c/*, cgi: {config}}}]\n")
        checked = run_cli("check", "-c", file)
        assert checked.returncode == 78 and word in checked.stderr, checked.stderr


# --- many

def test_neither_zombies_nor_descriptors_are_left(front):
    front.get("/cgi/hello")
    front.counts(0, "pontage_backend_connections", backend="cgi:/cgi/*", state="busy")
    before = front.file_descriptors()
    scripts = ["hello", "empty", "dies", "noisy", "none", "plain", "no-program", "short"]
    in_parallel(8, lambda i: [front.get(f"/cgi/{scripts[(i + n) % len(scripts)]}") for n in range(amount(16))])
    front.counts(0, "pontage_backend_connections", backend="cgi:/cgi/*", state="busy")
    eventually(lambda: not children(front), "every process to be waited for")
    eventually(lambda: front.file_descriptors() <= before, "descriptors to be closed")


def test_a_reload_under_load_loses_nothing(tmp_path, folder):
    gateway = Gateway(tmp_path, {"workers": 2, "routes": routes(folder)})
    try:
        def work(i):
            if i == 0:
                for _ in range(3):
                    gateway.reload()
                return True
            return all(gateway.get("/cgi/hello").body == b"hello" for _ in range(amount(30)))
        assert all(in_parallel(5, work))
    finally:
        gateway.stop()
