"""Measurements as JSON documents: what ``--save`` writes and ``--compare`` reads. Measures nothing
and prints nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from policyd.benchmark.figures import Figure
from policyd.benchmark.machine import machine, versions
from policyd.errors import ConfigError
from policyd.json_types import JSONObject

FORMAT = "policyd.dev/bench/v1"
_HINT = "save one with the option --save of policyd bench {}"


@dataclass(frozen=True, slots=True)
class MeasuredInput:
    """What was measured: a hash of it, and how many."""

    hash: str
    count: int

    def document(self) -> JSONObject:
        """Return it as JSON."""
        return {"hash": self.hash, "count": self.count}


@dataclass(frozen=True, slots=True)
class Saved:
    """One measurement. ``benchmark`` is the name of the command; ``policies`` has an empty hash if
    they are not known. ``options`` are those that decide what is measured; ``details`` are what the
    figures alone do not show.
    """

    benchmark: str
    policies: MeasuredInput
    reviews: MeasuredInput
    figures: Mapping[str, Figure]
    taken: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    versions: JSONObject = field(default_factory=versions)
    machine: JSONObject = field(default_factory=machine)
    options: JSONObject = field(default_factory=dict)
    details: JSONObject = field(default_factory=dict)

    def document(self) -> JSONObject:
        """Return the whole as JSON."""
        return {
            "format": FORMAT,
            "benchmark": self.benchmark,
            "taken": self.taken,
            "versions": self.versions,
            "machine": self.machine,
            "policies": self.policies.document(),
            "reviews": self.reviews.document(),
            "options": self.options,
            "figures": [_figure(each) for each in self.figures.values()],
            **self.details,
        }

    def write(self, file: Path) -> None:
        """Write the document. Raises ConfigError."""
        try:
            file.write_bytes(orjson.dumps(self.document(), option=orjson.OPT_INDENT_2) + b"\n")
        except OSError as error:
            raise ConfigError(f"--save {file}: {error.strerror}") from None


def read(file: Path, benchmark: str) -> Saved:
    """Read a measurement of this benchmark. Raises ConfigError."""
    where, hint = f"--compare {file}", f"\n  hint: {_HINT.format(benchmark)}"
    try:
        document = orjson.loads(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{where}: {error.strerror}{hint}") from None
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{where}: not JSON: {error}{hint}") from None
    given = document.get("format") if isinstance(document, dict) else None
    if given != FORMAT:
        raise ConfigError(f"{where}: expected format {FORMAT!r}, got {given!r}{hint}")
    if document.get("benchmark") != benchmark:
        raise ConfigError(
            f"{where}: expected a measurement of policyd bench {benchmark}, got one of policyd "
            f"bench {document.get('benchmark')}{hint}"
        )
    try:
        return _saved(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{where}: not a complete measurement: {what}{hint}") from None


def differences(now: Saved, before: Saved) -> list[str]:
    """Return what differs of what was measured; such figures cannot be compared."""
    found = []
    if now.policies.hash != before.policies.hash and now.policies.hash and before.policies.hash:
        found.append(
            f"the policies differ: {_shown(before.policies)} then, {_shown(now.policies)} now"
        )
    if now.reviews.hash != before.reviews.hash:
        found.append(
            f"the reviews differ: {_shown(before.reviews)} then, {_shown(now.reviews)} now"
        )
    for name in now.options.keys() | before.options.keys():
        then, here = before.options.get(name), now.options.get(name)
        if then != here:
            found.append(f"--{name} differs: {then} then, {here} now")
    return found


def remarks(now: Saved, before: Saved) -> list[str]:
    """Return what else differs, which may be why the figures do."""
    pairs = [
        ("machine", now.machine, before.machine, ("cpu", "cores", "architecture")),
        ("versions", now.versions, before.versions, tuple(now.versions)),
    ]
    return [
        f"{what}: {key} {old.get(key)} then, {new.get(key)} now"
        for what, new, old, keys in pairs
        for key in keys
        if new.get(key) != old.get(key)
    ]


def by_name(figures: Iterable[Figure]) -> dict[str, Figure]:
    """Return figures by their names."""
    return {each.name: each for each in figures}


def _shown(subject: MeasuredInput) -> str:
    return f"{subject.count} ({subject.hash or 'not known'})"


def _figure(figure: Figure) -> JSONObject:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "median": figure.median,
        "quartiles": list(figure.quartiles),
        "rounds": list(figure.rounds),
        "yardstick": list(figure.yardstick),
        "unsteady": figure.unsteady,
    }


def _saved(document: Mapping[str, Any]) -> Saved:
    return Saved(
        benchmark=document["benchmark"],
        policies=_subject(document["policies"]),
        reviews=_subject(document["reviews"]),
        figures=by_name(map(_read_figure, document["figures"])),
        taken=str(document["taken"]),
        versions=dict(document["versions"]),
        machine=dict(document["machine"]),
        options=dict(document["options"]),
    )


def _subject(value: Mapping[str, Any]) -> MeasuredInput:
    return MeasuredInput(str(value["hash"]), int(value["count"]))


def _read_figure(value: Mapping[str, Any]) -> Figure:
    rounds = tuple(map(float, value["rounds"]))
    yardstick = tuple(map(float, value["yardstick"]))
    if not rounds or len(yardstick) not in (0, len(rounds)):
        raise ValueError(f"figure {value['name']} has {len(rounds)} rounds")
    unsteady = bool(value["unsteady"])
    return Figure(str(value["name"]), str(value["unit"]), rounds, yardstick, unsteady)
