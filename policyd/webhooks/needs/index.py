"""Targets by group and resource, to find those that may match a resource. Only a lookup."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from policyd.webhooks.needs.targets import ANY, RequestTarget

GroupResource = tuple[str, str]  # API group and resource
_Of = TypeVar("_Of")


class TargetIndex(Generic[_Of]):
    """Targets, each with what it is of: a need, or a rule."""

    def __init__(self, targets: Iterable[tuple[RequestTarget, _Of]]) -> None:
        self._found: dict[GroupResource, list[tuple[RequestTarget, _Of]]] = {}
        for target, of in targets:
            self._found.setdefault((target.group, target.resource), []).append((target, of))

    @property
    def pairs(self) -> list[GroupResource]:
        """Return the groups and resources of the targets, ``*`` included, sorted."""
        return sorted(self._found)

    def about(self, pair: GroupResource) -> Iterator[tuple[RequestTarget, _Of]]:
        """Yield the targets that a request for a resource may match."""
        group, resource = pair
        for key in dict.fromkeys(((group, resource), (ANY, resource), (group, ANY), (ANY, ANY))):
            yield from self._found.get(key, ())

    def at(self, pair: GroupResource) -> Iterator[tuple[RequestTarget, _Of]]:
        """Yield the targets with this group and resource, as they are written."""
        yield from self._found.get(pair, ())
