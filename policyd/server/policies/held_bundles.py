"""Decides which bundles of sources are in use, and which changes are held back because of errors:
an error in one bundle must not block changes of the others. Compiles nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from policyd.errors import Problem
from policyd.policy.source.files import Bundle, BundleState
from policyd.policy.source.mistakes.duplicates import NAME_TAKEN
from policyd.server.policies.loaded_set import LoadedSet

# Changes that one reload tries one by one; others wait for the next reload.
MAX_TRIALS = 32

# The line of another document in a message: "first in policies/a.yaml:12".
_LINE = re.compile(r":[0-9]+")


class Trial(NamedTuple):
    """A usable set, its errors (of broken policies in quarantine), and its bundles."""

    loaded: LoadedSet
    errors: tuple[Problem, ...]
    bundles: Mapping[str, Bundle]


# Loads bundles: returns the set and its errors; no set if nothing is usable.
Try = Callable[[Sequence[Path | Bundle]], tuple[LoadedSet | None, tuple[Problem, ...]]]


def bundles_of(given: Iterable[Path | Bundle]) -> dict[str, Bundle]:
    """Return the bundles by name."""
    return {each.name: each for each in given if isinstance(each, Bundle)}


def added(errors: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Return the errors that are not known: those with another document, field or message. The same
    error at another line is known.
    """
    left = Counter(map(_identity, known))
    found = []
    for error in errors:
        key = _identity(error)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(error)
    return found


def blocking(errors: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Return the errors for which a change is held back: unknown ones, except copies of policies.
    Which copy is left out does not depend on what was loaded before.
    """
    return [each for each in added(errors, known) if each.rule != NAME_TAKEN]


def _identity(error: Problem) -> tuple[str, ...]:
    """Return the parts of an error that do not change with other documents of its file."""
    return error.file, error.document, error.path, _LINE.sub(":", error.message)


def step_by_step(
    used: Mapping[str, Bundle],
    latest: Mapping[str, Bundle],
    known: Iterable[Problem],
    attempt: Try,
) -> Trial | None:
    """Return the set with all changes that add no ``blocking`` error to the ``known`` ones; None if
    every change does, or if there is only one.

    Changes are tried in the order in which the API server accepted them, removals first; failed
    ones are tried again after each success. So all replicas reach the same result, however many
    changes each of them sees at once.
    """
    left = sorted(differing(used, latest), key=lambda name: _moment(latest.get(name)))
    if len(left) < 2:
        return None
    best: Trial | None = None
    taken, trials, at = dict(used), 0, 0
    while at < len(left) and trials < MAX_TRIALS:
        name, trials = left[at], trials + 1
        trial = {key: each for key, each in taken.items() if key != name}
        if name in latest:
            trial[name] = latest[name]
        loaded, errors = attempt([trial[key] for key in sorted(trial)])
        if loaded is None or blocking(errors, known):
            at += 1
            continue
        taken, known = trial, errors
        best = Trial(loaded, errors, taken)
        left.pop(at)
        at = 0 if trials > 1 else at
    return best


def differing(used: Mapping[str, Bundle], latest: Mapping[str, Bundle]) -> list[str]:
    """Return the names of the bundles that are new, gone, or have other content."""
    names = sorted({*used, *latest})
    return [name for name in names if _digest(used.get(name)) != _digest(latest.get(name))]


def states(used: Mapping[str, Bundle], latest: Mapping[str, Bundle]) -> list[BundleState]:
    """Return the state of each bundle that has a version."""
    changed = {*differing(used, latest)}
    found = []
    for name in sorted({*used, *latest}):
        mine, newest = used.get(name), latest.get(name)
        shown = mine or newest
        if shown is None or not shown.version:
            continue
        held = "" if name not in changed else newest.version if newest else "deleted"
        version = "" if mine is None else mine.version
        if name not in changed and newest is not None:
            version = newest.version  # the same content
        found.append(BundleState(name, version, held, len(shown.files)))
    return found


def _digest(bundle: Bundle | None) -> bytes:
    return b"" if bundle is None else bundle.digest


def _moment(bundle: Bundle | None) -> tuple[int, int, str]:
    """Return the sort key of a change. A resourceVersion is a number that grows (KEP 5504)."""
    if bundle is None:
        return (0, 0, "")
    number = int(bundle.version) if bundle.version.isascii() and bundle.version.isdigit() else 0
    return (1, number, bundle.name)
