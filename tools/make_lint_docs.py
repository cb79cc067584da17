"""Write docs/reference/lint-rules.md from the table of lint rules.

python -m tools.make_lint_docs

A test compares the page with the table. Change the strings in policyd/policy/lint/rules.py.
"""

from pathlib import Path

from policyd.policy.lint.rules import RULES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "lint-rules.md"
_HEAD = """# Lint rules

`policyd lint` reports errors and advice:

- Errors keep a policy from being used, or make it fail for every request.
- Advice points out what is probably a mistake. It does not change the exit status.

The names of rules do not change. They are part of the output formats `json`, `sarif` and `github`.

## Disable advice

- For one run: `policyd lint --disable no-binding,wildcard policies/`
- In a policy, with a reason: `# policyd-lint: disable=missing-update nobody changes these`

| place of the comment | applies to |
|---|---|
| above the first line of the file | the whole file |
| below `---`, above the first line of a document | that document |
| on the line of a field or list item, or on the line above it | everything in that field or item |

A comment that names an unknown rule or an error is an error. `--strict` also reports comments that
disable nothing.
"""
_FOOT = "<!-- Generated from policyd/policy/lint/rules.py by tools/make_lint_docs.py -->"


def page() -> str:
    """The content of the page."""
    parts = [_HEAD]
    for severity, title in (("advice", "Advice"), ("error", "Errors")):
        parts.append(f"## {title}\n\n| rule | reports | what to do |\n|---|---|---|")
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
