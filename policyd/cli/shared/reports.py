"""Reports for other programs: JUnit XML, SARIF 2.1.0 and the annotations of GitHub workflows.

A command builds one ReportEntry per result. Nothing is printed here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote
from xml.etree import ElementTree

from policyd import __version__

ReportLevel = Literal["error", "warning", "note", "none"]
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# Characters that XML 1.0 cannot represent, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One result.

    ``rule``: the policy or the lint rule. ``subject``: the resource or the test case. ``group``:
    the suite or file to which the entry belongs. ``level`` none: no problem. ``line`` and
    ``column`` count from 1; 0 means unknown.
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


def junit(entries: Iterable[ReportEntry], name: str) -> str:
    """Return JUnit XML: a testsuite for each group, a testcase for each subject and rule.

    Errors are failures; warnings and notes are the output of passing cases.
    """
    everything = list(entries)
    root = ElementTree.Element("testsuites", {"name": name, **_counts(everything)})
    for group, members in groupby(everything, lambda entry: entry.group):
        listed = list(members)
        title = {"name": _xml(group or name)}
        suite = ElementTree.SubElement(root, "testsuite", {**title, **_counts(listed)})
        suite.extend(_testcase(entry, group or name) for entry in listed)
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'


def _counts(entries: Sequence[ReportEntry]) -> dict[str, str]:
    return {
        "tests": str(len(entries)),
        "failures": str(sum(entry.level == "error" for entry in entries)),
        "errors": "0",
        "time": f"{sum(entry.seconds for entry in entries):.6f}",
    }


def _testcase(entry: ReportEntry, group: str) -> ElementTree.Element:
    title = ": ".join(filter(None, (entry.subject, entry.rule)))
    case = ElementTree.Element("testcase", classname=_xml(group), name=_xml(title))
    case.set("time", f"{entry.seconds:.6f}")
    if entry.file:
        case.set("file", _xml(entry.file))
    if entry.line:
        case.set("line", str(entry.line))
    place = f"{entry.file}:{entry.line}: " if entry.file and entry.line else ""
    if entry.level == "error":
        first = entry.message.partition("\n")[0]
        failure = ElementTree.SubElement(case, "failure", message=_xml(first))
        failure.text = _xml(place + entry.message)
    elif entry.level != "none":
        ElementTree.SubElement(case, "system-out").text = _xml(
            f"{place}{entry.level}: {entry.message}"
        )
    return case


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def sarif(entries: Iterable[ReportEntry], rules: Mapping[str, str]) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log of all problems. ``rules`` maps each rule to its description."""
    found = [entry for entry in entries if entry.level != "none"]
    names = sorted({entry.rule for entry in found} | set(rules))
    index = {name: position for position, name in enumerate(names)}
    driver = {
        "name": "policyd",
        "version": __version__,
        "rules": [
            {"id": name, "shortDescription": {"text": rules.get(name) or name}} for name in names
        ],
    }
    results = [_result(entry, index[entry.rule]) for entry in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(entry: ReportEntry, rule: int) -> dict[str, Any]:
    text = f"{entry.subject}: {entry.message}" if entry.subject else entry.message
    result: dict[str, Any] = {
        "ruleId": entry.rule,
        "ruleIndex": rule,
        "level": entry.level,
        "message": {"text": text},
    }
    place: dict[str, Any]
    if entry.file and entry.file != "-":
        place = {"artifactLocation": {"uri": _uri(entry.file)}}
        if entry.line:
            place["region"] = {"startLine": entry.line, "startColumn": max(entry.column, 1)}
        result["locations"] = [{"physicalLocation": place}]
    elif entry.subject:
        place = {"fullyQualifiedName": entry.subject, "kind": "resource"}
        result["locations"] = [{"logicalLocations": [place]}]
    return result


def _uri(file: str) -> str:
    """Relative to the working directory, as code scanning requires; else a file URI."""
    path = Path(file)
    if path.is_absolute():
        here = Path.cwd()
        if not path.is_relative_to(here):
            return path.as_uri()
        path = path.relative_to(here)
    return quote(path.as_posix())


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
        text = f"{entry.subject}: {entry.message}" if entry.subject else entry.message
        lines.append(f"::{words[entry.level]} {given}::{_data(text)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
