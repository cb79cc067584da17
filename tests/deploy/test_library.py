"""policyd's own Pods pass the policies of the library about images, if the image has a registry and a digest."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.deploy.rendering import chart, pods_of_the_test
from tests.shared import ROOT

LIBRARY = ROOT / "policies" / "best-practices"
POLICIES = [LIBRARY / "disallow-latest-tag", LIBRARY / "allowed-registries"]
DIGEST = f"image.digest=sha256:{'0' * 64}"
KNOWN = "image.repository=registry.example.com/team/policyd"


def findings(folder: Path, objects: list[JSONObject]) -> tuple[int, str]:
    """The exit status of ``policyd apply``, and what it prints."""
    file = folder / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    policies = [part for each in POLICIES for part in ("-p", str(each))]
    done = CliRunner().invoke(policyd, ["apply", *policies, str(file)])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("values", "refusals"),
    [
        ((KNOWN, DIGEST), []),
        ((KNOWN,), []),
        ((DIGEST,), ["allowed-registries"]),
        ((KNOWN, "image.tag=latest"), ["disallow-latest-tag"]),
    ],
)
def test_images_of_the_chart(tmp_path: Path, values: tuple[str, ...], refusals: list[str]) -> None:
    objects = [*chart(*values, "report.enabled=true"), *pods_of_the_test(*values, release="x")]
    status, printed = findings(tmp_path, objects)
    assert status == bool(refusals), printed
    for each in POLICIES:
        assert (f" {each.name} " in printed) == (each.name in refusals), printed
