"""docs/reference/lint-rules.md matches the table of lint rules, and the table is complete."""

import re

from policyd.policy.lint.all import finder
from policyd.policy.lint.lint_rules import RULES, nearest, refused
from tests.shared import ROOT
from tools.make_lint_docs import PAGE, page

_NAMED = re.compile(r'\b(?:rule=|RULE = |rule: str = |_RULE = )"([\w-]+)"')


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text() == page(), "run: python -m tools.make_lint_docs"


def test_every_rule_that_the_sources_name_is_in_the_table() -> None:
    files = [ROOT / "policyd" / "cli" / "lint.py"]
    for part in ("policy", "cel", "pattern", "mutation", "leftovers"):
        files += (ROOT / "policyd" / part).rglob("*.py")
    named = {name for path in files for name in _NAMED.findall(path.read_text())}
    assert named - set(RULES) == set()
    assert len(named) > 20


def test_every_function_that_the_table_names_is_there() -> None:
    for rule in RULES.values():
        names = [name for named in rule.found_by.values() for name in named]
        assert all(callable(finder(name)) for name in names), rule.name


def test_near_names_and_what_cannot_be_disabled() -> None:
    assert nearest("unguarded-feild") == "did you mean unguarded-field?"
    assert refused("wildcard") == ""
    assert "only advice" in refused("syntax")
