"""Every flag in the manifests is one of `policyd serve`, or of `policyd report`."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from tests.deploy.rendering import PROFILES, chart, flags, kustomized, named, with_component

MANIFESTS = [*PROFILES, "base", "overlays/default", "overlays/cert-manager"]


@pytest.mark.parametrize("manifests", MANIFESTS)
def test_flags_are_those_of_the_command(manifests: str) -> None:
    objects = chart(*PROFILES[manifests]) if manifests in PROFILES else kustomized(manifests)
    printed = CliRunner().invoke(policyd, ["serve", "--help"], env={"COLUMNS": "200"}).output
    assert flags(objects).keys() <= set(re.findall(r"--([a-z0-9-]+)", printed))


def test_flags_of_the_run_are_those_of_its_command(tmp_path: Path) -> None:
    printed = CliRunner().invoke(policyd, ["report", "--help"], env={"COLUMNS": "200"}).output
    known = set(re.findall(r"--([a-z0-9-]+)", printed))
    for objects in (chart(*PROFILES["everything"]), with_component("report", folder=tmp_path)):
        spec = named(objects, "CronJob", "policyd-report")["spec"]["jobTemplate"]["spec"]
        (run,) = spec["template"]["spec"]["containers"]
        command, *arguments = run["args"]
        assert command == "report"
        assert {each.removeprefix("--").partition("=")[0] for each in arguments} <= known
