"""Reports for other programs: JUnit XML and the annotations of GitHub workflows (SARIF is in
``sarif.py``).

A command builds one ReportEntry per result. Nothing is printed here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal
from xml.etree import ElementTree

ReportLevel = Literal["error", "warning", "note", "none"]
# Characters that XML 1.0 cannot represent, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One result.

    ``rule``: the policy or the lint rule. ``subject``: the resource or the test case. ``group``:
    the suite or file to which the entry belongs. ``level`` none: no problem. ``line`` and
    ``column`` count from 1; 0 means unknown. ``part``: which of several results that a rule can
    have for a subject, such as ``[1]``. ``failed``: the rule could not be evaluated.
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
    place = f"{entry.file}:{entry.line}: " if entry.file and entry.line else ""
    if entry.level == "error":
        first = entry.message.partition("\n")[0]
        kind = "error" if entry.failed else "failure"
        failure = ElementTree.SubElement(case, kind, message=_xml(first))
        failure.text = _xml(place + entry.message)
    elif entry.level != "none":
        ElementTree.SubElement(case, "system-out").text = _xml(
            f"{place}{entry.level}: {entry.message}"
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
        text = f"{entry.subject}: {entry.message}" if entry.subject else entry.message
        lines.append(f"::{words[entry.level]} {given}::{_data(text)}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
