"""`pontage check --probe` against real servers: the mistakes of ADAPTERS P9, P25 and P31."""
import re

import pytest

from harness import proxy_to, run_cli, to_yaml

FINE, FAILED = 0, 69


@pytest.fixture
def probe(tmp_path):
    """probe(configuration) -> (level, text) about its one server."""
    def run(config, *options):
        file = tmp_path / "probe.yaml"
        file.write_text(to_yaml({"listeners": ["127.0.0.1:0"], **config}))
        done = run_cli("check", "--probe", "--idle", "0", *options, "-c", file)
        lines = re.findall(r"^\S+\.yaml:\d+:\d+: (ok|warning|error): backend `app` server `.+?`: (.+)$", done.stdout + done.stderr, re.M)
        assert len(lines) == 1, (done.stdout, done.stderr)
        assert done.returncode == (FAILED if lines[0][0] == "error" else FINE)
        return lines[0]
    return run


@pytest.fixture
def tomcat(tomcats):
    return tomcats[0]


@pytest.mark.parametrize("adapter", ["ajp", "http"])
def test_tomcat_is_well(probe, tomcat, adapter):
    level, text = probe(proxy_to(f"{adapter}://127.0.0.1:{getattr(tomcat, adapter)}"))
    assert level == "ok" and "is answered with" in text, text


def test_P9_tomcats_secret(probe, tomcat):
    url = f"ajp://127.0.0.1:{tomcat.ajp_secret}"
    level, text = probe(proxy_to(url))
    assert level == "error" and "wants a secret" in text
    level, text = probe(proxy_to(url, secret="other"))
    assert level == "error" and "wants another secret" in text
    assert probe(proxy_to(url, secret="toll"))[0] == "ok"


def test_P9_tomcats_http_port_where_ajp_is_configured_and_the_reverse(probe, tomcat):
    level, text = probe(proxy_to(f"ajp://127.0.0.1:{tomcat.http}"))
    assert level == "error" and "it speaks HTTP, not AJP" in text
    level, text = probe(proxy_to(f"http://127.0.0.1:{tomcat.ajp}"))
    assert level == "error" and "it speaks AJP, not HTTP" in text


def test_P9_A2_tomcats_packet_size(probe, tomcat):
    level, text = probe(proxy_to(f"ajp://127.0.0.1:{tomcat.ajp}", packet_size="64KiB"))
    assert level == "error" and "65536 bytes" in text and "`packetSize`" in text
    assert probe(proxy_to(f"ajp://127.0.0.1:{tomcat.ajp_large}", packet_size="64KiB"))[0] == "ok"


def test_tomcat_serves_as_many_connections_as_the_pool_has(probe, tomcat):
    assert probe(proxy_to(f"ajp://127.0.0.1:{tomcat.ajp}"), "--pool")[0] == "ok"


@pytest.mark.parametrize("tcp", [False, True])
def test_P31_a_document_root_that_php_does_not_have(probe, start_fpm, php_root, tcp):
    fpm = start_fpm(tcp=tcp)
    assert probe(proxy_to(fpm.url(), document_root=str(php_root)))[0] == "ok"
    level, text = probe(proxy_to(fpm.url(), document_root="/elsewhere"))
    assert level == "error" and "it finds no script /elsewhere/index.php" in text and "`document_root`" in text


def test_a_script_that_php_may_not_run(probe, start_fpm, php_root):
    (php_root / "denied.txt").write_text("text")
    level, text = probe(proxy_to(start_fpm().url(), document_root=str(php_root), extensions=[".txt"]), "--path", "/denied.txt")
    assert level == "error" and f"it may not run {php_root}/denied.txt" in text and "`security.limit_extensions`" in text


def test_php_where_another_protocol_is_configured(probe, start_fpm, php_root):
    fpm = start_fpm(tcp=True)
    for scheme in ("http", "ajp", "uwsgi", "scgi"):
        level, text = probe(proxy_to(f"{scheme}://127.0.0.1:{fpm.place}"))
        assert level == "error" and "it speaks FastCGI, not" in text, (scheme, text)


def test_P25_uwsgis_buffer_size(probe, start_uwsgi):
    level, text = probe(proxy_to(start_uwsgi("uwsgi").url()))
    assert level == "warning" and "`buffer-size`" in text and "`max_vars`" in text
    assert probe(proxy_to(start_uwsgi("uwsgi", "--buffer-size", "65535").url()))[0] == "ok"
    assert probe(proxy_to(start_uwsgi("uwsgi").url(), max_vars="4KiB"))[0] == "ok"


@pytest.mark.parametrize("spoken", ["uwsgi", "scgi"])
@pytest.mark.parametrize("configured", ["fastcgi", "http"])
def test_uwsgi_where_another_protocol_is_configured(probe, start_uwsgi, spoken, configured):
    server = start_uwsgi(spoken, tcp=True)
    level, text = probe(proxy_to(f"{configured}://127.0.0.1:{server.place}"))
    assert level == "error" and f"it speaks {'SCGI' if spoken == 'scgi' else spoken}, not" in text, text
