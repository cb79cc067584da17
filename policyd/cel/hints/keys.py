"""Name hints: keys that are written as fields, ``labels.example.com/owner``, which CEL reads as a
division. They are found in the source: in the tree they have come apart.
"""

import re
from dataclasses import dataclass

# Fields that hold maps, and what a missing key stands for.
_MAPS = {
    **dict.fromkeys(("labels", "annotations", "matchLabels", "nodeSelector", "data"), "''"),
    **dict.fromkeys(("limits", "requests", "capacity", "allocatable", "hard"), "'0'"),
}
# A path, then at least one sign with a name behind it, without blanks; not the method after it.
_WRITTEN = re.compile(
    r"(?<![\w.?])(?P<path>[A-Za-z_]\w*+(?:\.\??[A-Za-z_]\w*+)++)"
    r"(?P<rest>(?:[-/]\w++(?:\.\w++(?!\())*+)++)"
)
_OPTIONAL = (".orValue(", ".hasValue(", ".value(", ".optMap(", ".or(")


@dataclass(frozen=True, slots=True)
class WrittenKey:
    """The key ``key`` of the map ``base``. ``after`` is the source that follows."""

    start: int
    base: str
    key: str
    after: str

    @property
    def value(self) -> str:
        """Return what to write for the value of the key."""
        head, _, name = self.base.rpartition(".")
        if name not in _MAPS or not head:
            return f"{self.base}['{self.key}']"
        instead = "" if self.after.startswith(_OPTIONAL) else f".orValue({_MAPS[name]})"
        return f"{head}.?{name}[?'{self.key}']{instead}"

    @property
    def presence(self) -> str:
        """Return what to write to test whether the map has the key."""
        return present(self.base, f"'{self.key}'")


def present(base: str, key: str) -> str:
    """Return the test for a key of a map that may be missing."""
    there = f"{key} in {base}"
    return f"has({base}) && {there}" if base.rpartition(".")[2] in _MAPS else there


def written_key(text: str, pos: int) -> WrittenKey | None:
    """Return the key that is written as fields at a place of the source; None if there is none."""
    found = next(
        (each for each in _WRITTEN.finditer(text) if each.start() <= pos < each.end()), None
    )
    if found is None:
        return None
    parts = found["path"].replace("?", "").split(".")
    last = max((at for at, part in enumerate(parts[:-1]) if part in _MAPS), default=len(parts) - 2)
    base, key = parts[: last + 1], parts[last + 1 :]
    after = text[found.end() :]
    return WrittenKey(found.start(), ".".join(base), ".".join(key) + found["rest"], after)
