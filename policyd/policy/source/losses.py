"""Detect policies that a reload would lose by accident.

A policy is removed on purpose by removing its file, or its document from a file that keeps others.
A file (or a whole set) without any is taken for truncated, half written or emptied by mistake.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.tree import shown

POLICIES, BINDINGS, OTHERS = "policies", "bindings", "documents"
LOST = "lost"  # the rule of these problems


class Holder(Protocol):
    """What this module needs of a policy set."""

    @property
    def policies(self) -> Sequence[Any]: ...
    @property
    def files(self) -> Mapping[str, frozenset[str]]:
        """The classes of documents in each source file: POLICIES, BINDINGS, OTHERS."""


def held(documents: Iterable[Document]) -> dict[str, frozenset[str]]:
    """Return the classes of documents in each file, by file name."""
    found: dict[str, set[str]] = {}
    for document in documents:
        what = OTHERS
        if document.confined:
            continue  # a team removes its exceptions as it likes
        if document.is_policy and document.kind not in ("PolicyException", "PolicyTest", "Rollout"):
            what = BINDINGS if document.kind.endswith("Binding") else POLICIES
        found.setdefault(document.file, set()).add(what)
    return {file: frozenset(kinds) for file, kinds in found.items()}


def emptied(former: Holder | None, new: Holder) -> Iterator[str]:
    """Yield the reasons why a set without policies must not be used."""
    if new.policies:
        return
    if former is None or not former.policies:
        yield "the sources hold no policies; set --allow-empty to accept that"
    else:
        yield (
            f"the sources no longer hold policies; keeping the {len(former.policies)} in use"
            " (set --allow-empty to remove them)"
        )


def truncated(
    former: Holder, new: Holder, exists: Callable[[str], bool] = os.path.lexists
) -> Iterator[str]:
    """Yield the files that still exist but lost all their documents of a class.

    Files are identified by their path below the source: each change of a mounted ConfigMap gives
    the path of a key another inode.
    """
    for file, before in former.files.items():
        now = new.files.get(file, frozenset())
        lost = [what for what in (POLICIES, BINDINGS) if what in before - now]
        if not now and not lost:
            lost = [OTHERS]
        if lost and exists(file):
            names = " and ".join(lost)
            yield f"{shown(file)}: no longer holds {names}; delete the file to remove them"
