"""Write docs/reference/functions.md: functions and macros with version, example and cost.

python -m tools.make_function_docs

Purposes and examples are in tools/function_table.py, signatures and versions in policyd/_core/lib
and policyd/cel/syntax/macros.py. The examples are run. A test compares the page with all of these.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from policyd.cel.syntax.macros import INTRODUCED
from policyd.cel.types.functions import Declaration, declarations
from policyd.cli import policyd
from policyd.versions import LATEST, OLDEST
from tools.function_table import OPERATORS, POD, SECTIONS, Row

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "functions.md"
RULES = "- {user: alice, resource: pods, reason: alice may}\n"
_SHORTER = {
    "kubernetes.authorization.": "",
    "kubernetes.": "",
    "net.": "",
    "optional_type": "optional",
    " -> ": " → ",
}
_HEAD = """\
# CEL functions

Every function and macro that policies can call, with an example, its value and its cost in
Kubernetes' units. All of them exist since {oldest}, the oldest supported version, unless another
version is named. [Expressions](../write/expressions.md) describes variables, errors and budgets.
Try an expression with `policyd eval 'EXPRESSION' pod.yaml`; `--cost` prints its cost.

The examples use this Pod as `object`:

```json
{pod}
```
"""
_COLUMNS = "| function | purpose | example | value, cost |\n|---|---|---|---|"
_END = """\
<!-- Generated from tools/function_table.py and policyd/_core/lib by tools/make_function_docs.py -->
"""


def page() -> str:
    """The whole page."""
    rows = [row for section in SECTIONS.values() for row in section]
    answers = dict(zip((row.example for row in rows), _run(rows), strict=True))
    parts = [_HEAD.format(oldest=OLDEST, pod=json.dumps(POD, indent=2))]
    for title, section in SECTIONS.items():
        parts.append(f"## {title}\n\n{_COLUMNS}")
        parts += [*(_entry(row, answers[row.example]) for row in section), ""]
    return "\n".join([*parts, _END])


def _run(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Evaluate the examples; raises RuntimeError for one that is an error."""
    lines = [json.dumps({"expression": row.example, "variables": {"object": POD}}) for row in rows]
    with TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.yaml"
        rules.write_text(RULES)
        flags = ["--jsonl", "--cost", "--authorizer", str(rules), "--user", "alice"]
        flags += ["--kubernetes-version", str(LATEST)]
        done = CliRunner().invoke(policyd, ["eval", *flags], input="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for row, answer in zip(rows, answers, strict=True):
        if "error" in answer:
            raise RuntimeError(f"{row.name}: {answer['error']}")
    return answers


def _entry(row: Row, answer: dict[str, Any]) -> str:
    value = json.dumps(answer["value"], ensure_ascii=False)
    cells = [
        "<br>".join(_forms(row)),
        row.about,
        _code(row.example),
        f"{_code(value)}, {answer['cost']}",
    ]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Return inline code for a cell of a table."""
    return f"`{text}`".replace("|", "\\|")


def _forms(row: Row) -> Iterator[str]:
    """Yield a function's signatures with their versions; operators and macros have one form."""
    name, _, arguments = row.name.partition("(")
    if arguments:
        since = INTRODUCED.get((name, arguments.count(",") + 1))
        yield _code(row.name) + (f" since {since.since}" if since else "")
    elif name in OPERATORS:
        yield _code(name)
    else:
        for each in declarations():
            if each.name == name:
                yield _code(_signature(each)) + _versions(each)


def _signature(each: Declaration) -> str:
    shown = each.signature
    for long, short in _SHORTER.items():
        shown = shown.replace(long, short)
    return shown


def _versions(each: Declaration) -> str:
    since = f" since {each.since}" if each.since != OLDEST else ""
    return since + (f" before {each.removed}" if each.removed else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
