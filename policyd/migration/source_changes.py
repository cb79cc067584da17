"""Finds changes of the sources since an earlier import. Reads no cluster and converts nothing."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from policyd.importers.model import Imported
from policyd.importers.provenance import Provenance, origin, provenance_of
from policyd.policy.source.loaded_documents import Document

ChangeState = Literal["new", "changed", "unchanged", "gone"]


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source and its change; ``why`` has the details. ``files`` are the files that it was
    imported to.
    """

    source: str
    state: ChangeState
    why: str = ""
    files: tuple[str, ...] = ()


class EarlierImport:
    """The policies of an earlier import, by their sources."""

    def __init__(self, policies: Iterable[Document]) -> None:
        self._known: dict[str, list[tuple[Provenance, str]]] = {}
        for each in policies:
            found, _ = provenance_of(each)
            if found.source:
                self._known.setdefault(found.source, []).append((found, each.file))

    def change(self, one: Imported) -> SourceChange | None:
        """Return the change of the source of an import; None if it was never imported."""
        source = origin(one.source)
        before = self._known.get(source, [])
        files = _files(before)
        if not one.documents:
            why = "it cannot be imported any more"
            return SourceChange(source, "changed", why, files) if before else None
        if not before:
            return SourceChange(source, "new")
        now, _ = provenance_of(replace(one.source, raw=one.documents[0].raw))
        why = next(filter(None, (_difference(known, now) for known, _ in before)), "")
        return SourceChange(source, "changed" if why else "unchanged", why, files)

    def gone(
        self, sources: Collection[str], unread: Collection[str], namespaces: Sequence[str]
    ) -> Iterator[SourceChange]:
        """Yield the sources that no longer exist, except of the kinds ``unread``, and only in
        ``namespaces`` if there are any.
        """
        for source, policies in self._known.items():
            kind, *within = source.split("/")[:-1] or [""]
            hidden = {kind, "*"} & {*unread} or (namespaces and not {*within} & {*namespaces})
            if source not in sources and policies[0][0].uid and not hidden:
                yield SourceChange(source, "gone", "", _files(policies))


def _difference(before: Provenance, now: Provenance) -> str:
    if not before.uid:
        return "it was imported from a file, so its original in the cluster is not known"
    if before.content != now.content and before.version == now.version:
        return "a related object changed, such as an exception"
    if before.content != now.content:
        return f"its resourceVersion is {now.version}, and was {before.version}"
    return "" if before.uid == now.uid else "it was created again, with the same content"


def _files(policies: Iterable[tuple[Provenance, str]]) -> tuple[str, ...]:
    return tuple(sorted({file for _, file in policies}))
