"""`pontage check`: every mistake at once, each with its place, a caret and a suggestion; and the other verbs' exit codes."""
import os
import re
import shutil

import pytest

from certificates import Authority
from harness import ROOT, run_cli

pytestmark = pytest.mark.smoke

GOOD = 'listeners: ["127.0.0.1:0"]\nroutes:\n  - respond: hello\n'


def check(tmp_path, text, **options):
    file = tmp_path / "pontage.yaml"
    file.write_text(text)
    return run_cli("check", "-c", file, **options)


def test_a_good_file_is_fine(tmp_path):
    done = check(tmp_path, GOOD)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", [["check", "-c"], ["-t", "-c"]])
def test_t_is_check(tmp_path, verb):
    file = tmp_path / "bad.yaml"
    file.write_text("liseners: []\n")
    assert run_cli(*verb, file).returncode == 78


@pytest.mark.parametrize("example", sorted(p.name for p in (ROOT / "conf").glob("*.yaml")))
@pytest.mark.parametrize("folder", ["/", str(ROOT)])
def test_examples_are_fine_from_any_folder(example, folder, tmp_path):
    conf = shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copy(Authority(tmp_path).sign("site", "localhost").cert, conf / "site.pem")  # what tls.yaml says to make
    shutil.copy(tmp_path / "site.key", conf / "site.key")
    done = run_cli("check", "-c", conf / example, cwd=folder, env={**os.environ, "AJP_SECRET": "test"})
    assert done.returncode == 0, done.stderr


MISTAKES = {
    # name: (text, line, column or None, part of the message)
    "unknown key": ("liseners: [':80']\n" + GOOD, 1, 1, "did you mean `listeners`"),
    "unknown key below": (GOOD + "client:\n  keepalive: 3s\n", 5, 3, "did you mean `keep_alive`"),
    "doubled key": (GOOD + "workers: 1\nworkers: 2\n", 5, 1, "workers"),
    "duration without a unit": (GOOD + "client:\n  head: 10\n", 5, None, ""),
    "size of a wrong unit": (GOOD + "limits:\n  header: 8kb\n", 5, None, ""),
    "octal number": (GOOD + "workers: 010\n", 4, None, ""),
    "quoted boolean": (GOOD + 'merge_slashes: "on"\n', 4, None, ""),
    "number out of bounds": (GOOD + "workers: 0\n", 4, None, ""),
    "unknown backend": ('listeners: [":80"]\nroutes:\n  - proxy: ap\n', 3, None, "ap"),
    "two actions": ('listeners: [":80"]\nroutes:\n  - respond: a\n    redirect: /x\n', 3, None, ""),
    "no action": ('listeners: [":80"]\nroutes:\n  - path: /x\n', 3, None, ""),
    "no listeners": ("routes:\n  - respond: a\n", None, None, "listeners"),
    "the same listener twice": ('listeners: [":80", ":80"]\nroutes: [{ respond: a }]\n', 1, None, ""),
    "unknown scheme": ('listeners: [":80"]\nbackends:\n  a:\n    servers: ["ftp://x"]\nroutes: [{ proxy: a }]\n', 4, None, "ajp"),
    "backend without servers": ('listeners: [":80"]\nbackends:\n  a:\n    servers: []\nroutes: [{ proxy: a }]\n', None, None, "server"),
    "servers of one name": ('listeners: [":80"]\nbackends:\n  a:\n    servers: [{ url: "http://x", name: n }, { url: "http://y", name: n }]\nroutes: [{ proxy: a }]\n', 4, None, "n"),
    "bad regular expression": ('listeners: [":80"]\nroutes:\n  - path: "~/(a"\n    respond: x\n', 3, None, ""),
    "merge key": ("a: &a { x: 1 }\n<<: *a\n" + GOOD, None, None, ""),
    "header with a line end": ('listeners: [":80"]\nroutes:\n  - respond: x\n    response_headers: { set: { X-A: "a\\r\\nb" } }\n', 4, None, ""),
    "framing header edited": ('listeners: [":80"]\nroutes:\n  - respond: x\n    response_headers: { set: { Content-Length: 5 } }\n', 4, None, "Content-Length"),
    "unset variable": (GOOD + 'admin: "${PONTAGE_TEST_NOT_SET}"\n', 4, None, "PONTAGE_TEST_NOT_SET"),
    "unquoted variable in braces": ('listeners: [":80"]\nbackends: { a: { servers: [ ${X} ] } }\nroutes: [{ proxy: a }]\n', 2, None, "quote"),
    "no YAML": ("listeners: [\n", None, None, ""),
    "a list where a map belongs": ("- listeners\n", None, None, ""),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_with_their_place(tmp_path, name):
    text, line, column, message = MISTAKES[name]
    done = check(tmp_path, text)
    assert done.returncode == 78, done.stderr
    places = re.findall(r"pontage\.yaml:(\d+):(\d+): error: (.+)", done.stderr)
    assert places, done.stderr
    if line:
        assert any(int(l) == line and (column is None or int(c) == column) for l, c, _ in places), done.stderr
    assert message in done.stderr
    if int(places[0][0]) <= text.count("\n"):  # the end of the file has no line to point into
        assert re.search(r"^\s*\d*\s*\|?\s*\^", done.stderr, re.M), f"no caret: {done.stderr}"


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path):
    done = check(tmp_path, "worker: 1\n" + GOOD + "client: { head: x }\nadmin: nowhere\n")
    lines = [int(n) for n in re.findall(r"pontage\.yaml:(\d+):\d+: error", done.stderr)]
    assert lines == sorted(lines) and set(lines) >= {1, 5, 6}, done.stderr


def test_warnings_do_not_fail(tmp_path):
    done = check(tmp_path, 'listeners: [":80"]\nbackends:\n  a:\n    servers: ["ajp://192.0.2.1"]\n  b:\n    servers: ["http://192.0.2.1"]\n'
                           "routes:\n  - proxy: a\n  - path: /never\n    respond: x\n")
    assert done.returncode == 0
    assert done.stderr.count("warning:") >= 3, done.stderr  # no secret, unused backend, a route that is never reached


def test_secrets_are_never_printed(tmp_path):
    done = check(tmp_path, 'listeners: [":80"]\nbackends:\n  a:\n    servers: ["ajp://192.0.2.1"]\n    secret: "${PONTAGE_SECRET}"\n    sekret: x\nroutes: [{ proxy: a }]\n',
                 env={"PONTAGE_SECRET": "hunter2-very-secret", "PATH": "/usr/bin"})
    assert done.returncode == 78 and "hunter2" not in done.stderr + done.stdout
    done = check(tmp_path, 'listeners: [":80"]\nbackends:\n  a:\n    servers: ["ajp://192.0.2.1"]\n    secret: hunter3-very-secret\n    secret: hunter3-again\nroutes: [{ proxy: a }]\n')
    assert "hunter3-very-secret" not in done.stderr + done.stdout


@pytest.mark.parametrize("text", ["", "~", "[]", "a", "{", "\0", "\xff\xfe", "listeners: &a [*a]\n", "a: " + "[" * 2000, "&a a: *a",
                                  "x: " + "y" * 200_000, "\t\n", "---\n---\n", "%YAML 1.2\n---\nlisteners: []\n"], ids=range(14))
def test_hostile_files_are_refused_without_harm(tmp_path, text):
    file = tmp_path / "bad.yaml"
    file.write_bytes(text.encode("latin-1"))
    done = run_cli("check", "-c", file)
    assert done.returncode == 78 and done.stderr


def test_a_missing_file_is_bad_configuration(tmp_path):
    for verb in ("check", "run"):
        done = run_cli(verb, "-c", tmp_path / "none.yaml")
        assert done.returncode == 78 and "none.yaml" in done.stderr


def test_run_refuses_a_bad_file_with_78(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("liseners: []\n")
    done = run_cli("run", "-c", file)
    assert done.returncode == 78 and "did you mean" in done.stderr


@pytest.mark.parametrize("arguments", [["nonsense"], ["run", "--nonsense"], ["status", "-c"], [], ["origin", "--threads", "none"]])
def test_wrong_usage_is_2(arguments):
    assert run_cli(*arguments).returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["version"], ["schema"]])
def test_help_version_and_schema_are_0(arguments):
    done = run_cli(*arguments)
    assert done.returncode == 0 and done.stdout


def test_a_taken_address_is_a_run_time_failure(start, tmp_path):
    gateway = start({"routes": [{"respond": "x"}]})
    host, port = gateway.address
    file = tmp_path / "taken.yaml"
    file.write_text(f'listeners: ["{host}:{port}"]\nroutes: [{{ respond: x }}]\n')
    done = run_cli("run", "-c", file)
    assert done.returncode == 1 and str(port) in done.stderr


def test_status_stop_and_reload_speak_through_the_control_socket(start, tmp_path):
    socket = tmp_path / "c.sock"
    gateway = start({"control": str(socket), "routes": [{"respond": "one"}]})
    assert oct(socket.stat().st_mode & 0o777) == "0o600"
    status = run_cli("status", "-c", gateway.file, "--json")
    assert status.returncode == 0
    import json
    told = json.loads(status.stdout)
    assert f":{gateway.address[1]}" in str(told["listeners"]) and told["state"] == "serving"
    assert run_cli("status", "-c", gateway.file).returncode == 0

    gateway.write({"control": str(socket), "routes": [{"respond": "two"}]})
    assert run_cli("reload", "-c", gateway.file).returncode == 0
    assert gateway.get("/").body == b"two"
    # A bad file: the running configuration stays, the caller hears what is wrong.
    gateway.file.write_text(gateway.file.read_text().replace('"routes"', '"rutes"'))
    bad = run_cli("reload", "-c", gateway.file)
    assert bad.returncode == 78 and "rutes" in bad.stderr
    assert gateway.get("/").body == b"two"

    gateway.write({"control": str(socket), "routes": [{"respond": "two"}]})
    assert run_cli("stop", "-c", gateway.file).returncode == 0
    assert gateway.wait() == 0 and not socket.exists()
    assert run_cli("status", "-c", gateway.file).returncode == 1


def test_verbs_without_a_control_socket_say_what_to_do(tmp_path):
    file = tmp_path / "pontage.yaml"
    file.write_text(GOOD)
    done = run_cli("reload", "-c", file)
    assert done.returncode == 2 and "control" in done.stderr
