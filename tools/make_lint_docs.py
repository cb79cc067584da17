"""Write docs/reference/lint-rules.md from the table of lint rules.

    python -m tools.make_lint_docs

A test compares the page with the table, which is in policyd/policy/model/lint_rules.py.
"""

from pathlib import Path

from policyd.policy.model.lint_rules import RULES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "lint-rules.md"
_HEAD = """# Rules of policyd lint

Errors keep a policy from being used. Advice does not, and does not change the exit status: it tells
what most likely is not meant. The names do not change. They stand in `--format json`, `sarif` and
`github`, and advice is disabled by them:

- for a run: `policyd lint --disable no-binding,wildcard policies/`
- in a policy, with the reason: `# policyd-lint: disable=missing-update nobody changes these`

The comment is about the whole file above its first line; about one document above that document's
first line (below its `---`); anywhere else about the field or list item on its line, or on the next
line if it has a line of its own, with everything inside of it. A rule that is not there, or that is
an error, is an error itself; `--strict` also tells comments that disable nothing.
"""
_FOOT = "<!-- Made from policyd/policy/model/lint_rules.py by tools/make_lint_docs.py -->"


def page() -> str:
    """The text of the page."""
    parts = [_HEAD]
    for severity, title in (("advice", "Advice"), ("error", "Errors")):
        parts.append(f"## {title}\n\n| rule | tells | remedy |\n|---|---|---|")
        parts += [
            f"| `{name}` | {_cell(rule.about)} | {_cell(rule.remedy)} |"
            for name, rule in sorted(RULES.items())
            if rule.severity == severity
        ]
        parts.append("")
    return "\n".join([*parts, _FOOT, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
