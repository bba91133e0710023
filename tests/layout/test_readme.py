"""README.md tells the truth: its commands exist, and its tables name the keys and metrics that the program has, no others."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from floors import ROOT

README = (ROOT / "README.md").read_text()
BINARY = Path(os.environ.get("PONTAGE_BIN", ROOT / "build/release/pontage"))
SAFE_VERBS = {"check", "version", "schema"}


def console_commands():
    for block in re.findall(r"^```console\n(.*?)^```", README, re.M | re.S):
        for line in block.splitlines():
            assert line.startswith("$ "), f"a console block shows commands only: {line}"
            yield line[2:]


def pontage(*args):
    return subprocess.run([BINARY, *args], cwd=ROOT, capture_output=True, text=True, timeout=60)


needs_binary = pytest.mark.skipif(not BINARY.exists(), reason=f"{BINARY} is not built")


@pytest.mark.parametrize("command", console_commands())
def test_command_exists(command):
    for part in command.split("|"):
        words = part.split()
        if words[0].startswith("build/"):
            target = words[0].rsplit("/", 1)[1]
            if target == "pontage" and BINARY.exists():
                assert pontage(words[1], "--help").returncode == 0, part
                if words[1] in SAFE_VERBS:
                    done = pontage(*words[1:])
                    assert done.returncode == 0, done.stderr
            else:
                assert target == "pontage" or (ROOT / "tests/unit" / target.removeprefix("unit_")).is_dir(), part
        elif "/" in words[0]:
            assert os.access(ROOT / words[0], os.X_OK), f"{words[0]} is not in the tree, or not executable"
        else:
            assert shutil.which(words[0]), f"{words[0]} is not installed"


def test_files_that_are_named_exist():
    for name in re.findall(r"`((?:conf|deploy|tests|src)/[\w./-]+)`", README):
        assert (ROOT / name).exists(), name


def schema_keys(schema, prefix=""):
    """Every key of the JSON schema as README writes it: a.b, a[].b, backends.NAME.b."""
    forms = schema.get("anyOf", [])
    for form in [f for f in forms if "properties" in f] or forms:  # a long form has the keys of its short ones
        yield from schema_keys(form, prefix)
    for name, below in schema.get("properties", {}).items():
        key = f"{prefix}.{name}" if prefix else name
        yield key
        yield from schema_keys(below, key)
    if isinstance(schema.get("items"), dict):
        yield from schema_keys(schema["items"], prefix + "[]")
    if isinstance(schema.get("additionalProperties"), dict) and "properties" in schema["additionalProperties"]:
        yield from schema_keys(schema["additionalProperties"], prefix + ".NAME")


@needs_binary
def test_every_key_of_the_schema_is_in_the_reference_and_no_other():
    keys = set(schema_keys(json.loads(pontage("schema").stdout)))
    groups = {k for k in keys if any(other.startswith(k + ".") for other in keys)}
    told = set(re.findall(r"^\| `([a-z0-9_.A-Z\[\]]+)` \|", README.split("## Metrics")[0].split("## Configuration")[1], re.M))
    assert told - keys == set(), "README names keys that do not exist"
    assert keys - groups - told == set(), "README lacks keys"


def test_every_metric_is_in_the_reference_and_no_other():
    table = (ROOT / "src/observe/families.cc").read_text()
    known = {"pontage_" + name for name in re.findall(r'\{Family::\w+, \w+, [^,]+, "(\w+)"', table)}
    told = set(re.findall(r"^\| `(pontage_\w+)` \|", README, re.M))
    assert told == known


@needs_binary
def test_the_configuration_in_the_readme_is_accepted(tmp_path):
    blocks = re.findall(r"^```yaml\n(listeners:.*?)^```", README, re.M | re.S)
    assert blocks
    for block in blocks:
        file = tmp_path / "readme.yaml"
        file.write_text(block)
        for cert, key in re.findall(r"cert: (\S+), key: (\S+)\b", block):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                            "/CN=example.org", "-keyout", tmp_path / key, "-out", tmp_path / cert.rstrip(",")], check=True, capture_output=True)
        done = pontage("check", "-c", str(file))
        assert done.returncode == 0, done.stderr
