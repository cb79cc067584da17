"""``policyd serve`` as a person runs it in a terminal: the log is text, and Ctrl-C ends it at once."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.terminal import PATIENCE, Interactive
from tests.server.serve import DENY, write_policy

# Nothing waits that long: a server that did would fail the test.
LONG = ("--drain", "3000s", "--grace", "9000s")
LOCAL = ("--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0", "--self-signed")


@contextmanager
def serving(
    tmp_path: Path, *flags: str, terminal: bool = True, **variables: str
) -> Iterator[tuple[Interactive, str]]:
    """A server and what it has logged until it listens."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    server = Interactive(
        "serve", "-p", str(policies), *LOCAL, *flags, terminal=terminal, variables=variables
    )
    try:
        yield server, server.until("ready for admission requests")
    finally:
        server.close()


WAYS = {
    "one process": (),
    "workers": ("--workers", "2"),
    "hypercorn": ("--server", "hypercorn"),
}


@pytest.mark.parametrize("flags", WAYS.values(), ids=WAYS)
def test_ctrl_c_ends_it_without_a_quiet_period(flags: tuple[str, ...], tmp_path: Path) -> None:
    with serving(tmp_path, *LONG, *flags) as (server, _):
        server.type("\x03")
        assert "until no request arrives seconds=0.0" in server.until("stopped")
        assert server.process.wait(PATIENCE) == 0


def test_ctrl_c_cuts_a_quiet_period_short(tmp_path: Path) -> None:
    with serving(tmp_path, *LONG) as (server, _):
        server.process.send_signal(signal.SIGTERM)
        server.until("until no request arrives seconds=3000.0")
        server.type("\x03")
        assert server.process.wait(PATIENCE) == 0


FORMS = {
    "a terminal": ((), True, {}, "text"),
    "a pipe": ((), False, {}, "json"),
    "a flag in a terminal": (("--log-format", "json"), True, {}, "json"),
    "a flag in a pipe": (("--log-format", "text"), False, {}, "text"),
    "a variable": ((), True, {"POLICYD_LOG_FORMAT": "json"}, "json"),
    "workers in a terminal": (("--workers", "2"), True, {}, "text"),
}


@pytest.mark.parametrize(("flags", "terminal", "variables", "form"), FORMS.values(), ids=FORMS)
def test_the_log_is_text_in_a_terminal(
    flags: tuple[str, ...], terminal: bool, variables: dict[str, str], form: str, tmp_path: Path
) -> None:
    with serving(tmp_path, *flags, terminal=terminal, **variables) as (_, said):
        first = said.splitlines()[0]
        if form == "json":
            assert json.loads(first)["message"] == "policies loaded"
        else:
            assert " INFO    reload policies loaded generation=" in first
