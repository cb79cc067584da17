"""Policies as platform engineers write them first: each mistake is answered with its remedy.

The files of ``first_tries`` hold a policy with its suite and a manifest, and the mistakes: what is
written in place of what, the command that one runs then, and what its output names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.within import answered as run

pytestmark = pytest.mark.usefixtures("folder")
TRIES = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((Path(__file__).parent / "first_tries").glob("*.yaml"))
}
MISTAKES = [
    pytest.param(tried, mistake, id=f"{name}-{mistake['mistake']}")
    for name, tried in TRIES.items()
    for mistake in tried["mistakes"]
]
COMMANDS = {
    "lint": ["lint", "policy.yaml"],
    "test": ["test", "policy.yaml", "suite.yaml"],
    "apply": ["apply", "-p", "policy.yaml", "manifest.yaml"],
    "explain": ["explain", "-p", "policy.yaml", "manifest.yaml"],
}


def write(tried: Mapping[str, Any], replaced: Mapping[str, str]) -> None:
    """Write the files of a try, with a mistake; each old text must occur once."""
    texts = {name: tried[name] for name in ("policy", "suite", "manifest") if name in tried}
    for old, new in replaced.items():
        (name,) = [name for name, text in texts.items() for _ in range(text.count(old))]
        texts[name] = texts[name].replace(old, new)
    for name, text in texts.items():
        Path(f"{name}.yaml").write_text(text)


@pytest.mark.parametrize("name", TRIES)
def test_the_policy_without_mistakes_has_no_findings_and_passes_its_suite(name: str) -> None:
    write(TRIES[name], {})
    status, output = run("lint", "--strict", "policy.yaml", "suite.yaml")
    assert (status, output.splitlines()[1:]) == (0, []), output
    assert "0 errors, 0 advice" in output
    options = ["--require-tests", "--coverage-min", "100"]
    status, output = run("test", *options, "policy.yaml", "suite.yaml")
    assert status == 0, output


@pytest.mark.parametrize(("tried", "mistake"), MISTAKES)
def test_the_remedy_of_a_mistake_is_named(
    tried: Mapping[str, Any], mistake: Mapping[str, Any]
) -> None:
    write(tried, mistake.get("replace", {}))
    _, output = run(*COMMANDS[mistake.get("run", "lint")])
    assert mistake["names"] in output
