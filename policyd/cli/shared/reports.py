"""Reports for other programs: JUnit XML, the annotations of GitHub workflows, GitLab's Code Quality
and SARIF 2.1.0 as GitHub code scanning accepts it. A command builds one ReportEntry per result.

The rules of GitHub: https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/
sarif-support-for-code-scanning
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote
from xml.etree import ElementTree

import click

from policyd import __version__
from policyd.bounded_text import with_field
from policyd.cli.shared.output import echo_json, warn

MAX_RESULTS = 25_000  # of a run; GitHub rejects the file if there are more
MAX_DESCRIPTION = 1024  # characters
ReportLevel = Literal["error", "warning", "note", "none"]
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SEVERITY = {"error": "error", "warning": "warning", "note": "recommendation"}
# GitHub shows these ranges as critical, high, medium and low.
_SCORES = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
# GitLab's names for the severities of policies, and for the levels of other results.
_QUALITY = {
    **{"critical": "blocker", "high": "critical", "medium": "major", "low": "minor"},
    **{"info": "info", "error": "major", "warning": "minor", "note": "info"},
}
REPORTS = ("junit", "sarif", "github", "gitlab")
_ORDER = ("error", "warning", "note")
# Characters that XML 1.0 cannot represent, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One result.

    ``rule``: the policy or the lint rule. ``subject``: the resource or the test case. ``group``:
    the suite or file to which the entry belongs. ``level`` none: no problem. ``line`` and
    ``column`` count from 1; 0 means unknown. ``part``: which of several results that a rule can
    have for a subject, such as ``[1]``. ``failed``: the rule could not be evaluated. ``field`` is
    the path of the field of the subject that it is about. ``related``: other places, for SARIF.
    """

    rule: str
    level: ReportLevel
    message: str
    subject: str = ""
    group: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    seconds: float = 0.0
    part: str = ""
    failed: bool = False
    field: str = ""
    related: tuple["ReportEntry", ...] = ()

    @property
    def text(self) -> str:
        """The message, with the field."""
        return with_field(self.field, self.message)


@dataclass(frozen=True, slots=True)
class ReportRule:
    """A rule of a report. ``about``: one sentence; ``help``: what to do, or where it is defined;
    ``full``: what it demands, by default both of them; empty if nothing says it. ``severity``: that
    of a policy, if it has one.
    """

    about: str
    help: str = ""
    level: ReportLevel = "error"
    tags: tuple[str, ...] = ("kubernetes",)
    severity: str = ""
    full: str | None = None


Rules = Mapping[str, ReportRule]


def echo_report(
    form: str, entries: Iterable[ReportEntry], rules: Rules, name: str, *, err: bool = False
) -> None:
    """Print a report in one of REPORTS. ``name``: of the command."""
    if form == "junit":
        click.echo(junit(entries, name), err=err)
    elif form == "gitlab":
        echo_json(gitlab(entries, rules), err=err)
    elif form == "sarif":
        log = sarif(entries, rules)
        echo_json(log, err=err)
        for note in log["runs"][0]["invocations"][0]["toolExecutionNotifications"]:
            warn(note["message"]["text"])
    elif text := github(entries):
        click.echo(text, err=err)


def junit(entries: Iterable[ReportEntry], name: str) -> str:
    """Return JUnit XML: a testsuite for each group, a testcase for each subject and rule.

    Errors are failures, or errors if the rule could not be evaluated; warnings and notes are the
    output of passing cases. The names of a group's cases differ.
    """
    everything = list(entries)
    root = ElementTree.Element("testsuites", {"name": name, **_counts(everything)})
    for group, members in groupby(everything, lambda entry: entry.group):
        listed = list(members)
        title = {"name": _xml(group or name)}
        suite = ElementTree.SubElement(root, "testsuite", {**title, **_counts(listed)})
        taken: Counter[str] = Counter()
        for entry in listed:
            case = ": ".join(filter(None, (entry.subject, entry.rule + entry.part)))
            taken[case] += 1
            if taken[case] > 1:
                case = f"{case} ({taken[case]})"
            suite.append(_testcase(entry, group or name, case))
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'


def _counts(entries: Sequence[ReportEntry]) -> dict[str, str]:
    return {
        "tests": str(len(entries)),
        "failures": str(sum(entry.level == "error" and not entry.failed for entry in entries)),
        "errors": str(sum(entry.level == "error" and entry.failed for entry in entries)),
        "time": f"{sum(entry.seconds for entry in entries):.6f}",
    }


def _testcase(entry: ReportEntry, group: str, title: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=_xml(group), name=_xml(title))
    case.set("time", f"{entry.seconds:.6f}")
    if entry.file:
        case.set("file", _xml(entry.file))
    if entry.line:
        case.set("line", str(entry.line))
    place = ":".join(str(part) for part in (entry.file, entry.line, entry.column) if part)
    place = f"{place}: " if entry.file and entry.line else ""
    if entry.level == "error":
        first = entry.text.partition("\n")[0]
        kind = "error" if entry.failed else "failure"
        failure = ElementTree.SubElement(case, kind, message=_xml(first))
        failure.text = _xml(place + entry.text)
    elif entry.level != "none":
        ElementTree.SubElement(case, "system-out").text = _xml(
            f"{place}{entry.level}: {entry.text}"
        )
    return case


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def github(entries: Iterable[ReportEntry]) -> str:
    """Return GitHub workflow commands, one per line, which annotate the changed lines."""
    words = {"error": "error", "warning": "warning", "note": "notice"}
    lines = []
    for entry in entries:
        if entry.level == "none":
            continue
        place = {
            "file": entry.file if entry.file != "-" else "",
            "line": entry.line or "",
            "col": entry.column or "",
            "title": entry.rule,
        }
        given = ",".join(f"{key}={_property(str(value))}" for key, value in place.items() if value)
        lines.append(f"::{words[entry.level]} {given}::{_data(_described(entry))}")
    return "\n".join(lines)


def _described(entry: ReportEntry) -> str:
    return f"{entry.subject}: {entry.text}" if entry.subject else entry.text


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(entries: Iterable[ReportEntry], rules: Rules) -> list[dict[str, Any]]:
    """Return a Code Quality report of all problems:
    https://docs.gitlab.com/ci/testing/code_quality/ (Import Code Quality results from a CI/CD job).
    """
    taken: Counter[str] = Counter()
    return [
        {
            "description": _described(entry).partition("\n")[0],
            "check_name": entry.rule,
            "fingerprint": _fingerprint(entry, _path(entry), taken),
            "severity": _quality(entry, rules),
            "location": {"path": _path(entry), "lines": {"begin": max(entry.line, 1)}},
        }
        for entry in entries
        if entry.level != "none"
    ]


def _quality(entry: ReportEntry, rules: Rules) -> str:
    """Return the severity of the policy that denies, or else the level, as GitLab calls it."""
    rule = rules.get(entry.rule)
    severity = rule.severity if rule and entry.level == "error" else ""
    return _QUALITY[severity or entry.level]


def sarif(entries: Iterable[ReportEntry], rules: Rules) -> dict[str, Any]:
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
        "rules": [_rule(name, rules.get(name) or ReportRule(name, full="")) for name in names],
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
    full = rule.full
    if full is None:
        full = about if remedy == about else f"{about}\n{remedy}"
    level = "note" if rule.level == "none" else rule.level
    score = _SCORES.get(rule.severity, "")
    return {
        "id": name,
        "name": name[:255],
        "shortDescription": {"text": _bounded(" ".join(about.split()))},
        **({"fullDescription": {"text": _bounded(full)}} if full else {}),
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
    text, uri = _described(entry), _uri(entry)
    related = [
        {**_location(each, _uri(each)), "message": {"text": each.message}} for each in entry.related
    ]
    return {
        "ruleId": entry.rule,
        "ruleIndex": rule,
        "level": entry.level,
        "message": {"text": text or entry.rule},
        "locations": [_location(entry, uri)],
        **({"relatedLocations": related} if related else {}),
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
    logical = ((entry.subject, "resource"), (entry.field, "property"))
    places = [{"fullyQualifiedName": name, "kind": kind} for name, kind in logical if name]
    if places:
        location["logicalLocations"] = places
    return location


def _fingerprint(entry: ReportEntry, uri: str, taken: Counter[str]) -> str:
    """Identify a result in later runs, wherever its lines and the items of lists have moved to;
    equal ones are counted.
    """
    parts = (entry.rule, uri, entry.subject, entry.part, entry.message)
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(text).hexdigest()[:16]
    taken[digest] += 1
    return f"{digest}:{taken[digest]}"


def _uri(entry: ReportEntry) -> str:
    """Return a relative path, as code scanning requires, or else a file URI."""
    path = _path(entry)
    return Path(path).as_uri() if path.startswith("/") else quote(path)


def _path(entry: ReportEntry) -> str:
    """Return a path relative to the working directory if the file is below it.

    GitHub rejects a result without a file, so an object of a cluster or of standard input gets its
    name as path.
    """
    if entry.file in ("", "-"):
        return "/".join((entry.subject or "stdin").split(" "))
    path, here = Path(entry.file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
