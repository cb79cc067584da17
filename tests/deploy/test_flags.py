"""Every flag in the manifests is one of `policyd serve`."""

import re

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from tests.deploy.rendering import PROFILES, chart, flags, kustomized

MANIFESTS = [*PROFILES, "base", "overlays/default", "overlays/cert-manager"]


@pytest.mark.parametrize("manifests", MANIFESTS)
def test_flags_are_those_of_the_command(manifests: str) -> None:
    objects = chart(*PROFILES[manifests]) if manifests in PROFILES else kustomized(manifests)
    printed = CliRunner().invoke(policyd, ["serve", "--help"], env={"COLUMNS": "200"}).output
    assert flags(objects).keys() <= set(re.findall(r"--([a-z0-9-]+)", printed))
