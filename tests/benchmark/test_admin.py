"""The admin port as a benchmark reads it."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from policyd.benchmark.admin import Admin, ServerState
from policyd.errors import ConfigError
from tests.web_server import QuietHandler, web_server

METRICS = """\
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
process_start_time_seconds 1.7e+09
policyd_policy_set_info{generation="old",kubernetes="1.37"} 0.0
policyd_policy_set_info{generation="abc",kubernetes="1.37"} 1.0
"""


def answering(text: str, token: str = "") -> AbstractContextManager[str]:
    """An HTTP server whose metrics are this text; they need the token, if there is one."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            known = not token or self.headers.get("Authorization") == f"Bearer {token}"
            self.send_response(404 if self.path != "/metrics" else 200 if known else 401)
            self.end_headers()
            self.wfile.write(text.encode())

    return web_server(Handler)


def test_it_reads_cpu_time_and_the_policies_in_use() -> None:
    with answering(METRICS) as url:
        for given in (url, f"{url}/", f"{url}/metrics"):
            assert Admin(given).read() == ServerState(12.5, 1.7e9, "abc")


def test_metrics_of_another_program_are_an_error() -> None:
    with (
        answering("up 1\n") as url,
        pytest.raises(ConfigError, match="no process_cpu_seconds_total in its metrics"),
    ):
        Admin(url).read()


def test_without_policies_there_is_no_generation() -> None:
    with answering(METRICS.replace("policyd_policy_set_info", "x")) as url:
        assert Admin(url).read().generation == ""


def test_a_token_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    with answering(METRICS, token="secret") as url:
        assert Admin(url, file).read().cpu == 12.5
        with pytest.raises(ConfigError, match="answered 401\n  hint: give --admin-token-file"):
            Admin(url).read()


def test_a_token_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--admin-token-file .*: No such file or directory"):
        Admin("http://127.0.0.1:1", tmp_path / "token")
