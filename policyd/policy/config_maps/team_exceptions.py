"""The exceptions of teams: PolicyExceptions in ConfigMaps of their namespaces. Each ConfigMap is
checked alone, before it is loaded: an error in it blocks only its own last edit, never the edit of
another team, nor a policy. Reads no cluster.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

from policyd._core.pattern.strings import Wildcard
from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import PREFIX, contents, slim
from policyd.policy.source.budget import TOO_LARGE, SourceBudget, SourceLimits
from policyd.policy.source.files import (
    Bundle,
    BundleState,
    SourceFile,
    is_source,
    unpacked,
    unreadable,
)
from policyd.policy.source.loader import load_files
from policyd.versions import NEWEST

# The name of the bundle of all of them.
EXCEPTIONS = "exceptions"
# Limits for all ConfigMaps of one namespace together. Each node costs every reload, and many
# cost each request of the namespace, which others wait for. An exception has about 40 nodes.
LIMITS = SourceLimits(size=256 * 2**10, documents=100, nodes=5_000, aliases=False)
# Characters of one ConfigMap that are kept at all: as many as the limit in base64, with some names.
MAX_STORED = LIMITS.size * 3 // 2
# Seconds of processor time to read one ConfigMap: the limits allow a tenth of a second.
MAX_SECONDS = 5.0
# Errors of one ConfigMap that are kept, and their length: a team sees what to correct first.
MAX_ERRORS = 10
MAX_ERROR = 500

_Key = tuple[str, str]  # namespace and name of a ConfigMap


class HeldBack(NamedTuple):
    """A ConfigMap whose content of this version is not in use, and why."""

    namespace: str
    name: str
    version: str
    errors: tuple[str, ...]


class _Size(NamedTuple):
    """The cost of exceptions: see the limits above."""

    exceptions: int = 0
    nodes: int = 0
    size: int = 0

    def plus(self, other: "_Size") -> "_Size":
        """Return both together."""
        return _Size(*map(int.__add__, self, other))

    def excess(self) -> str:
        """Return the limit that is exceeded; empty if none is."""
        if self.exceptions > LIMITS.documents:
            return f"{LIMITS.documents} exceptions"
        if self.nodes > LIMITS.nodes:
            return f"{LIMITS.nodes:,} nodes (names, values, lists and objects) in exceptions"
        return f"{LIMITS.size >> 10} KiB of exceptions" if self.size > LIMITS.size else ""


class _Content(NamedTuple):
    """The content of one version of a ConfigMap."""

    identity: tuple[str, ...]
    version: str
    files: tuple[SourceFile, ...] = ()
    size: _Size = _Size()
    errors: tuple[str, ...] = ()


class ExceptionNamespaces:
    """The namespaces that patterns allow. ``literal`` are their names if no pattern has a wildcard:
    then these are listed one by one: permissions in them suffice; None: list all namespaces.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._tests = [Wildcard(each).matches for each in patterns]
        literal = not any("*" in each or "?" in each for each in patterns)
        self.literal = [*dict.fromkeys(patterns)] if literal else None

    def allow(self, namespace: str) -> bool:
        """Whether exceptions may be in this namespace."""
        return any(test(namespace) for test in self._tests)


class TeamExceptions:
    """The ConfigMaps as they were taken last. ``report`` is called once with each content that is
    held back, by the thread that takes it.
    """

    def __init__(self, report: Callable[[HeldBack], None]) -> None:
        self._report = report
        self._latest: Mapping[_Key, _Content] = {}
        self._good: Mapping[_Key, _Content] = {}
        self._held: Mapping[_Key, HeldBack] = {}
        self._taking = Lock()
        self.states: tuple[BundleState, ...] = ()

    def take(self, config_maps: Iterable[JSONObject]) -> Bundle:
        """Return the files of these ConfigMaps: their last content without errors."""
        with self._taking:
            return self._bundle(config_maps)

    def _bundle(self, config_maps: Iterable[JSONObject]) -> Bundle:
        latest: dict[_Key, _Content] = {}
        good: dict[_Key, _Content] = {}
        for each in config_maps:
            key, known = _key(each), self._latest.get(_key(each))
            found = known if known and known.identity == _identity(each) else _content(each)
            latest[key] = found
            former = self._good.get(key) if found.errors else found
            if former is not None:
                good[key] = former
        self._latest, self._good = latest, good
        used, beyond = _within_bounds(good)
        self._note(used, beyond)
        files = tuple(file for key in sorted(used) for file in used[key].files)
        # Without names: a key that vanishes takes its exceptions along, and that is no error.
        return Bundle(EXCEPTIONS, files)

    def _note(self, used: Mapping[_Key, _Content], beyond: Mapping[_Key, str]) -> None:
        """Report what is not in use, unless that is known."""
        held: dict[_Key, HeldBack] = {}
        states: list[BundleState] = []
        for key, found in sorted(self._latest.items()):
            errors, mine = found.errors, used.get(key)
            if not errors and mine is None:
                errors = (f"namespace {key[0]} has more than {beyond[key]}",)
            if errors:
                held[key] = HeldBack(*key, found.version, errors)
            version, files = ("", 0) if mine is None else (mine.version, len(mine.files))
            shown = found.version if errors else ""
            states.append(BundleState(_name(*key), version, shown, files, key[0]))
        news = [each for key, each in held.items() if self._held.get(key) != each]
        self._held, self.states = held, tuple(states)
        for each in news:
            self._report(each)


def _within_bounds(
    good: Mapping[_Key, _Content],
) -> tuple[dict[_Key, _Content], dict[_Key, str]]:
    """Return the contents that fit, by name, the same ones on all replicas; and of others, which
    limit they exceed.
    """
    used: dict[_Key, _Content] = {}
    beyond: dict[_Key, str] = {}
    sizes: dict[str, _Size] = {}
    for key in sorted(good):
        size = sizes.get(key[0], _Size()).plus(good[key].size)
        excess = size.excess()
        if excess:
            beyond[key] = excess
        else:
            sizes[key[0]], used[key] = size, good[key]
    return used, beyond


def bounded(config_map: JSONObject) -> JSONObject:
    """Return the fields of a ConfigMap that are read, and none of what is too large to be read."""
    found = slim(config_map)
    stored = [found.get(key) for key in ("data", "binaryData")]
    texts = [text for each in stored if isinstance(each, dict) for text in each.values()]
    if sum(len(text) for text in texts if isinstance(text, str)) > MAX_STORED:
        return {"metadata": found["metadata"], "tooLarge": True}
    return found


def _content(config_map: JSONObject) -> _Content:
    """Return the content of a ConfigMap, or everything that is wrong with it."""
    key, identity = _key(config_map), _identity(config_map)
    prefix = _name(*key)
    files, problems = _files(config_map, prefix, key[0])
    if config_map.get("tooLarge") or sum(len(each.data) for each in files) > LIMITS.size:
        text = f"more than {LIMITS.size >> 10} KiB of exceptions in one ConfigMap"
        return _Content(identity, identity[-1], errors=(f"{prefix}: {text}",))
    budget = SourceBudget(LIMITS, MAX_SECONDS)
    sources = load_files(files, problems, version=NEWEST, budget=budget)
    errors = [each for each in sources.problems if each.severity == "error"]
    if errors:
        shown = tuple(map(_line, errors[:MAX_ERRORS]))
        if len(errors) > MAX_ERRORS:
            shown = (*shown, f"… and {len(errors) - MAX_ERRORS} more")
        return _Content(identity, identity[-1], errors=shown)
    size = _Size(len(sources.documents), budget.nodes, budget.size)
    return _Content(identity, identity[-1], tuple(files), size)


def _files(
    config_map: JSONObject, prefix: str, namespace: str
) -> tuple[list[SourceFile], list[Problem]]:
    """Return the files of a ConfigMap, up to the first one beyond the limit, and the problems of
    reading them.
    """
    stored, problems = contents(config_map)
    problems = [replace(each, file=f"{prefix}/{each.file.rpartition('/')[2]}") for each in problems]
    files: list[SourceFile] = []
    left = LIMITS.size
    for name, data in stored.items():
        if not is_source(name):
            continue
        shown = f"{prefix}/{name}"
        try:
            plain = unpacked(name, data, LIMITS.size)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            problems.append(unreadable(shown, error))
            continue
        files.append(SourceFile(shown, shown, plain, beside={}, confined=namespace))
        left -= len(plain)
        if left < 0:
            break
    return files, problems


def _line(problem: Problem) -> str:
    """Return a problem without its excerpt and most hints: the log shows nothing of ConfigMaps."""
    remedy = f"; {problem.hint}" if problem.rule == TOO_LARGE else ""
    return str(problem).partition("\n")[0][:MAX_ERROR] + remedy


def _name(namespace: str, name: str) -> str:
    return f"{PREFIX}{namespace}/{name}"


def _key(config_map: JSONObject) -> _Key:
    metadata = config_map["metadata"]
    return str(metadata["namespace"]), str(metadata["name"])


def _identity(config_map: JSONObject) -> tuple[str, ...]:
    metadata = config_map["metadata"]
    return tuple(str(metadata[key]) for key in ("uid", "resourceVersion"))
