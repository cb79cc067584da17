"""A policyd that serves the policies of a run while it is measured."""

import json
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from policyd.errors import ConfigError
from policyd.option_values import Address
from policyd.policy.suite.reviews import build_review
from policyd.versions import NEWEST
from tests.builders.objects import pod
from tests.builders.policies import denying
from tests.server.process import until
from tests.shared import ROOT
from tools.crossover.cpu import reading
from tools.crossover.fetching import Unfetched, fetched
from tools.crossover.serving import serving

HERE = Address("127.0.0.1", 0)
# Starts a server, says where its metrics are, and waits.
PROGRAM = """
import sys
from tools.crossover.serving import serving
from policyd.option_values import Address
from policyd.versions import NEWEST
from tests.builders.policies import denying
from tests.server.process import until
from tests.shared import ROOT
with serving([denying()], Address("127.0.0.1", 0), NEWEST) as server:
    print(server.metrics, flush=True)
    sys.stdin.read()
"""


def test_it_answers_with_a_certificate_of_its_authority_and_has_metrics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A setting of policyd that somebody has in the environment is not one of this server.
    monkeypatch.setenv("POLICYD_TIMEOUT", "nonsense")
    with serving([denying()], HERE, NEWEST) as server:
        context = ssl.create_default_context(cadata=server.authority.decode())
        body = json.dumps(build_review(pod())).encode()
        with urlopen(f"{server.url}/validate", body, context=context) as answer:
            response = json.load(answer)["response"]
        assert response["status"]["message"] == "policy 'p' denied request: no"
        assert reading(fetched(server.metrics)).seconds > 0
    with pytest.raises(OSError, match="refused"):
        urlopen(server.metrics)


def test_it_ends_with_a_run_that_is_killed() -> None:
    command = [sys.executable, "-c", PROGRAM]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as run:
        assert run.stdout is not None
        metrics = run.stdout.readline().strip()
        assert reading(fetched(metrics)).seconds > 0
        run.kill()
    until(lambda: is_refused(metrics), "the end of the server")


def is_refused(url: str) -> bool:
    try:
        fetched(url)
    except Unfetched:
        return True
    return False


def test_metrics_are_not_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text("policyd_policies 1")
    with pytest.raises(Unfetched, match="expected a URL of HTTP"):
        fetched((tmp_path / "metrics").as_uri())


def test_an_address_that_cannot_be_used_is_an_error() -> None:
    with (
        pytest.raises(ConfigError, match="policyd does not serve: "),
        serving([denying()], Address("192.0.2.1", 9443), NEWEST),
    ):
        pass
