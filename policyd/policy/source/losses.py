"""What a new set of policies would lose without anybody having said so.

A policy is removed by removing its file, or its document from a file that keeps others. A file that
holds nothing any more was truncated, half written or emptied by mistake; and so was a whole set.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from policyd.policy.source.tree import shown

POLICIES, BINDINGS, OTHERS = "policies", "bindings", "documents"


class Holder(Protocol):
    """What is to be known of a set here."""

    @property
    def policies(self) -> Sequence[Any]: ...
    @property
    def files(self) -> Mapping[str, frozenset[str]]:
        """What each source file holds: POLICIES, BINDINGS, OTHERS."""


class _Document(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def is_policy(self) -> bool: ...


def held(documents: Iterable[_Document]) -> dict[str, frozenset[str]]:
    """What each file holds, by name."""
    found: dict[str, set[str]] = {}
    for document in documents:
        what = OTHERS
        if document.is_policy and document.kind != "PolicyTest":
            what = BINDINGS if document.kind.endswith("Binding") else POLICIES
        found.setdefault(document.file, set()).add(what)
    return {file: frozenset(kinds) for file, kinds in found.items()}


def emptied(former: Holder | None, new: Holder) -> Iterator[str]:
    """Why a set without policies must not be taken into use."""
    if new.policies:
        return
    if former is None or not former.policies:
        yield "the sources hold no policies; set --allow-empty to accept that"
    else:
        yield (
            f"the sources no longer hold policies; keeping the {len(former.policies)} in use"
            " (set --allow-empty to remove them)"
        )


def truncated(former: Holder, new: Holder) -> Iterator[str]:
    """The files that are still there and lost all that they held of a kind.

    A file is known by its path below the source: behind the path of a mounted ConfigMap's key there
    is another inode after each change.
    """
    for file, before in former.files.items():
        now = new.files.get(file, frozenset())
        lost = [what for what in (POLICIES, BINDINGS) if what in before - now]
        if not now and not lost:
            lost = [OTHERS]
        if lost and os.path.lexists(file):
            names = " and ".join(lost)
            yield f"{shown(file)}: no longer holds {names}; delete the file to remove them"
