"""``policyd apply --cluster``: results and exit statuses, as for manifests."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from tests.builders.policies import demand, policy, rule
from tests.cluster.contents import Contents

PODS = "/api/v1/pods"
Run = Callable[..., Result]
ERRS = demand("object.spec.absent == 1", "never")
FALSE = demand("false", "never")
# validation, spec, RESULT, exit status without --fail-on, with warn, with error
ROWS: list[tuple[Any, dict[str, Any], str, tuple[int, int, int]]] = [
    (ERRS, {}, "error", (1, 1, 1)),
    (ERRS, {"failurePolicy": "Ignore"}, "ignored", (0, 0, 1)),
    (ERRS, {"validationActions": ["Warn"]}, "warning", (0, 1, 1)),
    (FALSE, {"validationActions": ["Warn"]}, "warning", (0, 1, 0)),
    (FALSE, {"validationActions": ["Audit"]}, "audit", (0, 0, 0)),
]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[2]}-{row[3][2]}" for row in ROWS])
def test_the_exit_status_counts_what_it_is_told_to(
    contents: Contents, run: Run, row: tuple[Any, dict[str, Any], str, tuple[int, int, int]]
) -> None:
    validation, spec, word, statuses = row
    contents.add(PODS, "web", "shop")
    document = policy("p", rule("pods"), validations=[validation], **spec)
    flags = ((), ("--fail-on", "warn"), ("--fail-on", "error"))
    done = [run(document, flags=each) for each in flags]
    assert tuple(each.exit_code for each in done) == statuses
    head, first = done[0].stdout.splitlines()
    assert head.split() == ["RESULT", "RESOURCE", "POLICY", "MESSAGE"]  # a cluster has no files
    assert first.split()[:4] == [word, "Pod", "shop/web", "p"]
    assert "explain" not in done[0].stderr


def test_results_have_a_path_that_code_scanning_accepts(contents: Contents, run: Run) -> None:
    contents.add(PODS, "web", "shop")
    done = run(policy("p", rule("pods"), validations=[FALSE]), flags=("--format", "sarif"))
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "Pod/shop/web"}
