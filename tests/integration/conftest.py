"""Fixtures: one origin for the session, one gateway for a module in front of it, and ways to start more."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import ADAPTERS, BINARY, Gateway, Origin, backend_to  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "smoke: also run against the sanitizer builds")


def pytest_collection_modifyitems(items):
    if not BINARY.exists():
        raise pytest.UsageError(f"{BINARY} is not built; set PONTAGE_BIN or run tests/run.sh")


@pytest.fixture(scope="session")
def origin(tmp_path_factory):
    process = Origin(tmp_path_factory.mktemp("origin"))
    yield process
    process.stop()


SITE = {
    "index.html": b"<h1>hello</h1>\n",
    "empty.txt": b"",
    "ten.txt": b"0123456789",
    "fifty.txt": bytes(range(65, 115)),
    "3k.bin": bytes(i * 7 % 256 for i in range(3 * 1024)),
    "100k.bin": bytes(i * 11 % 256 for i in range(100 * 1024)),
    "3m.bin": bytes(i * 13 % 251 for i in range(3 << 20)),
    "100%.txt": b"percent",
    "a b": b"space",
    "x {y}.txt": b"braces",
    "åäö.txt": b"umlauts",
    "sub/index.html": b"<h1>sub</h1>\n",
}


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for name, data in SITE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def site_config(origin, site):
    """Every adapter in front of one origin, and files for the rest."""
    return {
        "backends": {name: backend_to(origin, name) for name in ADAPTERS},
        "routes": [*({"path": f"/{name}/*", "proxy": name} for name in ADAPTERS), {"files": str(site)}],
    }


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, origin, site):
    process = Gateway(tmp_path_factory.mktemp("gateway"), site_config(origin, site))
    yield process
    assert process.alive(), process.output()
    process.stop()


@pytest.fixture
def start(tmp_path):
    """start(config, ...) -> Gateway, stopped after the test."""
    running = []

    def begin(config, **options):
        running.append(Gateway(tmp_path, config, name=f"gateway{len(running)}", **options))
        return running[-1]

    yield begin
    for process in running:
        process.stop()


@pytest.fixture
def start_origin(tmp_path):
    running = []

    def begin(**options):
        running.append(Origin(tmp_path, name=f"origin{len(running)}", **options))
        return running[-1]

    yield begin
    for process in running:
        process.stop(check=process.alive())
