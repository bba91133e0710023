"""What deploy/ and conf/ promise: a unit that systemd accepts, scripts that parse, a quickstart whose parts fit together."""
import re
import shutil
import subprocess

import pytest
import yaml

from floors import ROOT

UNIT = ROOT / "deploy/pontage.service"
SOCKET = ROOT / "deploy/pontage.socket"


def unit_values(key):
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.M)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path):
    copies = []
    for unit in (UNIT, SOCKET):
        # verify also asks for the program itself, which is not installed here.
        copies.append(tmp_path / unit.name)
        copies[-1].write_text(unit.read_text().replace("/usr/local/bin/pontage", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *map(str, copies)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "pontage." not in done.stderr, done.stderr


def test_the_unit_does_not_start_a_bad_configuration_again():
    assert unit_values("RestartPreventExitStatus") == ["78"]
    assert unit_values("Restart") == ["on-failure"]


def test_the_unit_waits_longer_than_a_drain_lasts():
    assert int(unit_values("TimeoutStopSec")[0]) > 30  # shutdown.deadline's default


@pytest.mark.parametrize("script", ["tests/run.sh", ".ci/run", "deploy/quickstart.sh", "deploy/build-deps.sh"])
def test_scripts_parse(script):
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True, timeout=30)


def test_the_quickstart_starts_the_servers_that_its_configuration_names():
    config = yaml.safe_load((ROOT / "conf/quickstart.yaml").read_text())
    script = (ROOT / "deploy/quickstart.sh").read_text()
    urls = {s["url"] for b in config["backends"].values() for s in b["servers"]}
    http, ajp = re.search(r"kHttp=(\S+) kAjp=(\S+)", script).groups()
    assert urls == {f"http://{http}", f"ajp://{ajp}"}


def test_the_quickstart_site_has_a_small_and_a_large_image():
    site = ROOT / "conf/site"
    page = (site / "index.html").read_text()
    for name in re.findall(r'(?:src|href)="([^"/:]+)"', page):
        assert (site / name).is_file(), name
    sizes = sorted(p.stat().st_size for p in site.glob("*.png"))
    assert 2500 <= sizes[0] <= 4096 and 90_000 <= sizes[-1] <= 110_000, sizes
