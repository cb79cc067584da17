"""Every form of the documentation and of Kyverno's policies, as the tests of patterns have them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.export.patterns.translated import Translated, translated
from tests.pattern import idioms, rows
from tests.shared import ROOT
from tools.bench.patterns import FAILING, PATTERNS

TREES = [
    *rows.MAPS, *rows.KEYS, *rows.LISTS, *rows.MARKS,
    *rows.CONDITIONS, *rows.GLOBALS,
]  # fmt: skip


def same(made: Translated, obj: Any) -> bool:
    return made.denied(obj) == made.pattern.check(obj)


@pytest.mark.parametrize(("pattern", "fits", "fails"), rows.LEAVES)
def test_a_leaf_is_the_same(pattern: Any, fits: list[Any], fails: list[Any]) -> None:
    made = translated({"pattern": {"a": pattern}})
    for value in (*fits, *fails):
        assert same(made, {"a": value}), value
    assert same(made, {})
    assert same(made, {"a": None})


@pytest.mark.parametrize(("pattern", "obj", "said"), TREES)
def test_a_tree_is_the_same(pattern: Any, obj: Any, said: str | None) -> None:
    assert translated({"pattern": pattern}).denied(obj) == said


@pytest.mark.parametrize(("patterns", "obj", "said"), rows.ANY)
def test_alternatives_are_the_same(patterns: Any, obj: Any, said: str | None) -> None:
    assert translated({"anyPattern": patterns}).denied(obj) == said


@pytest.mark.parametrize(("pattern", "obj", "admitted"), idioms.ROWS)
def test_an_idiom_is_the_same(pattern: Any, obj: Any, admitted: bool) -> None:
    made = translated({"pattern": pattern})
    assert same(made, obj)
    assert (made.denied(obj) is None) is admitted


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), FAILING])
def test_typical_policies_can_be_translated(pattern: Any) -> None:
    made = translated({"pattern": pattern})
    for _, obj, _ in idioms.ROWS:
        assert same(made, obj)


def policies() -> list[Path]:
    return sorted(ROOT.glob("policies/*/*-pattern/policy.yaml"))


@pytest.mark.parametrize("path", policies(), ids=lambda path: path.parent.name)
def test_the_policies_of_the_library_can_be_translated(path: Path) -> None:
    document = yaml.safe_load(path.read_text("utf-8"))
    for item in document["spec"]["validations"]:
        made = translated(item)
        for _, obj, _ in idioms.ROWS:
            denied, report = made.denied(obj), made.pattern.check(obj)
            assert denied == (report and f"{item['message']} ({report})")
