"""What a policy of the library protects cannot be written through a subresource that it is not
about.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.policy.model.kinds import Policy
from policyd.policy.source.loader import load
from tests.policies.subresources import METADATA_WRITES
from tests.shared import ROOT

LIBRARY = ROOT / "policies"
FILES = sorted(LIBRARY.rglob("policy.yaml"))
IDS = [str(each.parent.relative_to(LIBRARY)) for each in FILES]
PART = re.compile(r"\b(?:object|oldObject)\.\??metadata\.\??(labels|annotations)\b")
# What is left alone, and why.
EXCEPTIONS = {
    # The API server refuses to change these annotations of an existing Pod, and ignores them.
    "pod-security/baseline/app-armor-profile": {"pods/status"},
    "pod-security/baseline/seccomp-profile": {"pods/status"},
}


def judged(policy: Policy) -> set[str]:
    """The parts of metadata that the policy demands something of."""
    spec = policy.spec
    texts = [each.expression for each in spec.variables]
    texts += [each.expression for each in spec.validations]
    found = {part for text in texts for part in PART.findall(text)}
    patterns = [each.pattern for each in spec.validations if each.pattern is not None]
    return found | {part for part in ("labels", "annotations") if part in str(patterns)}


def uncovered(policy: Policy) -> Iterator[str]:
    """The subresources that write such a part and that no rule names."""
    rules = policy.spec.match_constraints.resource_rules
    updated = [each for each in rules if {"UPDATE", "*"} & {*each.operations}]
    named = {
        (group, name) for each in updated for group in each.api_groups for name in each.resources
    }
    parts = judged(policy)
    for (group, resource), subresources in METADATA_WRITES.items():
        if (group, resource) in named:
            for subresource, written in subresources.items():
                if written & parts and (group, f"{resource}/{subresource}") not in named:
                    yield f"{resource}/{subresource}"


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_what_writes_the_metadata_that_is_protected_is_covered(file: Path) -> None:
    (document,) = [each for each in load([file]).documents if isinstance(each.model, Policy)]
    assert isinstance(document.model, Policy)
    left_alone = EXCEPTIONS.get(str(file.parent.relative_to(LIBRARY)), set())
    assert {*uncovered(document.model)} == left_alone
