"""Reports in SARIF 2.1.0, in the form that GitHub code scanning accepts.

The rules of GitHub: https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/
sarif-support-for-code-scanning
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from policyd import __version__
from policyd.cli.shared.output import echo_json, styled
from policyd.cli.shared.reports import ReportEntry, ReportLevel

MAX_RESULTS = 25_000  # of a run; GitHub rejects the file if there are more
MAX_DESCRIPTION = 1024  # characters
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SEVERITY = {"error": "error", "warning": "warning", "note": "recommendation"}
# GitHub shows these ranges as critical, high, medium and low.
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
_ORDER = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class ReportRule:
    """A rule of a report. ``about``: one sentence; ``help``: what to do, or where it is defined;
    ``severity``: that of a policy, if it has one.
    """

    about: str
    help: str = ""
    level: ReportLevel = "error"
    tags: tuple[str, ...] = field(default=("kubernetes",))
    severity: str = ""


def echo_sarif(
    entries: Iterable[ReportEntry], rules: Mapping[str, ReportRule], *, err: bool = False
) -> None:
    """Print a SARIF log; warn on standard error if it has too many results for GitHub."""
    log = sarif(entries, rules)
    echo_json(log, err=err)
    for note in log["runs"][0]["invocations"][0]["toolExecutionNotifications"]:
        click.echo(f"{styled('warning', fg='yellow')}: {note['message']['text']}", err=True)


def sarif(entries: Iterable[ReportEntry], rules: Mapping[str, ReportRule]) -> dict[str, Any]:
    """Return a SARIF log of all problems: the most severe ones if there are too many."""
    every = [entry for entry in entries if entry.level != "none"]
    found = every
    if len(every) > MAX_RESULTS:
        found = sorted(every, key=lambda entry: _ORDER.index(entry.level))[:MAX_RESULTS]
    names = sorted({entry.rule for entry in found} | set(rules))
    index = {name: position for position, name in enumerate(names)}
    driver = {
        "name": "policyd",
        "version": __version__,
        "rules": [_rule(name, rules.get(name) or ReportRule(name)) for name in names],
    }
    taken: Counter[str] = Counter()
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": list(_left_out(len(every) - len(found))),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(entry, index[entry.rule], taken) for entry in found],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _left_out(count: int) -> Iterable[dict[str, Any]]:
    if count:
        text = (
            f"{count} of the results are left out of the SARIF log, the least severe ones: "
            f"GitHub accepts {MAX_RESULTS}"
        )
        yield {"level": "warning", "message": {"text": text}}


def _rule(name: str, rule: ReportRule) -> dict[str, Any]:
    about = rule.about.strip() or name
    remedy = rule.help.strip() or about
    level = "note" if rule.level == "none" else rule.level
    score = _SCORES.get(rule.severity, "")
    return {
        "id": name,
        "name": name[:255],
        "shortDescription": {"text": _bounded(" ".join(about.split()))},
        "fullDescription": {"text": _bounded(about if remedy == about else f"{about}\n{remedy}")},
        "help": {"text": remedy, "markdown": f"**{name}**: {about}\n\n{remedy}"},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": list(rule.tags),
            "precision": "very-high",
            "problem.severity": _SEVERITY[level],
            **({"security-severity": score} if score else {}),
        },
    }


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"


def _result(entry: ReportEntry, rule: int, taken: Counter[str]) -> dict[str, Any]:
    text = f"{entry.subject}: {entry.message}" if entry.subject else entry.message
    uri = _uri(entry)
    return {
        "ruleId": entry.rule,
        "ruleIndex": rule,
        "level": entry.level,
        "message": {"text": text or entry.rule},
        "locations": [_location(entry, uri)],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(entry, uri, taken)},
    }


def _location(entry: ReportEntry, uri: str) -> dict[str, Any]:
    line, column = max(entry.line, 1), max(entry.column, 1)
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {
                "startLine": line,
                "startColumn": column,
                "endLine": line,
                "endColumn": column + 1,
            },
        }
    }
    if entry.subject:
        place = {"fullyQualifiedName": entry.subject, "kind": "resource"}
        location["logicalLocations"] = [place]
    return location


def _fingerprint(entry: ReportEntry, uri: str, taken: Counter[str]) -> str:
    """Identify a result in later runs, wherever its lines have moved to; equal ones are counted."""
    parts = (entry.rule, uri, entry.subject, entry.part, entry.message)
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(text).hexdigest()[:16]
    taken[digest] += 1
    return f"{digest}:{taken[digest]}"


def _uri(entry: ReportEntry) -> str:
    """Return a path relative to the working directory, as code scanning requires; else a file URI.

    GitHub rejects a result without a file, so an object of a cluster or of standard input gets its
    name as path.
    """
    if entry.file in ("", "-"):
        return quote("/".join((entry.subject or "stdin").split(" ")))
    path = Path(entry.file)
    if path.is_absolute():
        here = Path.cwd()
        if not path.is_relative_to(here):
            return path.as_uri()
        path = path.relative_to(here)
    return quote(path.as_posix())
