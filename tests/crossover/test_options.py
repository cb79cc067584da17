"""Which options of ``python -m tools.crossover`` go together. The cluster is never reached."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.builders.policies import policy
from tests.e2e.webhook import write
from tools.crossover.__main__ import command

URL = ["--webhook-url", "https://127.0.0.1:1"]
SERVICE = ["--webhook-service", "policyd/policyd"]
ONE = "give one of --serve, --webhook-service and --webhook-url"
NEEDS_ONE = "--ca-file and --metrics-url require --webhook-service or --webhook-url"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--serve", "127.0.0.1:0", *URL], ONE),
        ([*SERVICE, *URL], ONE),
        (["--metrics-url", "http://127.0.0.1:1/metrics"], NEEDS_ONE),
        (["--serve", "127.0.0.1:0", "--metrics-url", "http://127.0.0.1:1/metrics"], NEEDS_ONE),
        (["--ca-file", "ca.crt"], NEEDS_ONE),
        (SERVICE, "--webhook-service requires --ca-file"),
        (["--webhook-service", "policyd"], "expected NAMESPACE/NAME[:PORT], got 'policyd'"),
        (["--webhook-url", "http://10.0.0.7"], "expected a URL like https://policyd.example:8443"),
        (["--serve", "9443"], "expected HOST:PORT"),
        (["--duration", "0s"], "expected a duration above zero like 10s, got '0s'"),
        (["--requests", "9"], "9 is not in the range x>=10"),
    ],
)
def test_what_does_not_go_together_is_an_error_of_usage(
    flags: list[str], message: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "p", [policy()])
    arguments = ["-p", str(folder), *flags, "--yes"]
    found = CliRunner().invoke(command, arguments)
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


def test_a_kubeconfig_that_is_none_is_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", [policy()])
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps({"clusters": []}))
    arguments = ["-p", str(folder), "--kubeconfig", str(file)]
    with pytest.raises(Exception, match="--kubeconfig"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
