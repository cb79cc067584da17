"""Measurements as JSON documents: what ``--save`` writes and ``--compare`` reads. Measures nothing
and prints nothing.
"""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from policyd import __version__
from policyd.benchmark.figures import Figure
from policyd.errors import ConfigError, file_errors
from policyd.json_types import JSONObject

FORMAT = "policyd.dev/bench/v1"
_HINT = "save one with the option --save of policyd bench {}"


@dataclass(frozen=True, slots=True)
class MeasuredInput:
    """The measured policies: a hash of it, empty if it is not known, and how many."""

    hash: str
    count: int


@dataclass(frozen=True, slots=True)
class Saved:
    """One measurement. ``benchmark`` is the name of the command; ``details`` are what the figures
    alone do not show.
    """

    benchmark: str
    policies: MeasuredInput
    reviews: MeasuredInput
    figures: Mapping[str, Figure]
    details: JSONObject = field(default_factory=dict)
    taken: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def document(self) -> JSONObject:
        """Return the whole as JSON."""
        return {
            "format": FORMAT,
            "benchmark": self.benchmark,
            "taken": self.taken,
            "versions": {"policyd": __version__, "python": sys.version.split()[0]},
            "policies": asdict(self.policies),
            "reviews": asdict(self.reviews),
            "figures": [
                {**asdict(each), "median": each.median, "quartiles": list(each.quartiles)}
                for each in self.figures.values()
            ],
            **self.details,
        }

    def write(self, file: Path) -> None:
        """Write the document. Raises ConfigError."""
        with file_errors(file, "--save "):
            file.write_bytes(orjson.dumps(self.document(), option=orjson.OPT_INDENT_2) + b"\n")


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
        figures = {each["name"]: _figure(each) for each in document["figures"]}
        policies, reviews = (MeasuredInput(**document[name]) for name in ("policies", "reviews"))
        return Saved(benchmark, policies, reviews, figures, taken=str(document["taken"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{where}: not a complete measurement: {what}{hint}") from None


def _figure(value: Mapping[str, Any]) -> Figure:
    rounds = tuple(map(float, value["rounds"]))
    yardstick = tuple(map(float, value["yardstick"]))
    if not rounds or len(yardstick) not in (0, len(rounds)):
        raise ValueError(f"figure {value['name']} has {len(rounds)} rounds")
    unsteady = bool(value["unsteady"])
    return Figure(str(value["name"]), str(value["unit"]), rounds, yardstick, unsteady)
