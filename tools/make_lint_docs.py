"""Write docs/reference/lint-rules.md from the table of lint rules and their examples.

python -m tools.make_lint_docs

A test compares the page with both. Change the strings in policyd/policy/lint/lint_rules.json and
policyd/policy/lint/details/examples.yaml.
"""

from pathlib import Path

from policyd.policy.lint.details.explaining import RuleDetail, details
from policyd.policy.lint.lint_rules import RULES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "lint-rules.md"
_HEAD = """# Lint rules

`policyd lint` reports errors and advice:

- Errors keep a policy from being used, or make it fail for every request.
- Advice points out what is probably a mistake. It changes the exit status only with
  `--fail-on advice`.

The names of rules do not change. They are part of the output formats `json`, `sarif` and `github`.

## Correct files

`policyd lint --fix` corrects in the files what has one certain correction: the case of an
operation or of a value, the plural of a resource, the name of the core group, and missing quotes.
Comments and formatting stay as they are. Each correction is printed with its place, then what
remains is reported. `policyd lint --fix --diff` prints the changes as a patch and writes nothing.

A corrected policy may deny what it admitted before: run `policyd test` afterwards.

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
_EXAMPLES = """## Examples

`policyd lint --explain RULE` prints them. An example is either whole documents, or fields of the
`spec` of a `Policy` that matches Pods on CREATE and UPDATE.
"""
_FOOT = "<!-- Generated from policyd/policy/lint/lint_rules.json by tools/make_lint_docs.py -->"


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
    parts.append(_EXAMPLES)
    parts += [_example(name, detail) for name, detail in sorted(details().items())]
    return "\n".join([*parts, _FOOT, ""])


def _example(name: str, detail: RuleDetail) -> str:
    parts = [f"### {name}\n\n{detail.why}\n"]
    for title, example in (("wrong", detail.wrong), ("right", detail.right)):
        if example:
            parts.append(f"```yaml\n# {title}\n{example.rstrip()}\n```\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
