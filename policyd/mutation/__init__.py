"""Mutations: the values of mutation expressions made into changed objects, one file a kind.

``KINDS`` is the table of patchTypes. A new kind is a file with a Mutator and a line here.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from policyd.errors import MutationError, StatusError
from policyd.mutation.apply_configuration import ApplyConfiguration
from policyd.mutation.jsonpatch import JSONPatch
from policyd.mutation.schemas.schemas import Schemas, Target

__all__ = ["KINDS", "MutationError", "Mutator", "Schemas", "StatusError", "Target"]


class Mutator(Protocol):
    """Applies the values of one kind of mutation."""

    def apply(
        self,
        value: object,
        obj: dict[str, Any],
        target: Target,
        sources: tuple[object, ...] | None = None,
    ) -> dict[str, Any]:
        """The mutated object, or ``obj`` itself if nothing changed.

        ``value`` is what the expression gave, ``target`` the object's kind (``Schemas.target``).
        ``sources`` are the JSON trees that the expression could read: with them Kubernetes'
        difference between maps that came as JSON and maps that the expression wrote is made;
        without them all maps and lists are taken. ``obj`` is never changed; the result
        shares what stayed the same. Raises MutationError (failurePolicy decides; the message
        follows "denied request: ") or StatusError (the request fails).
        """


KINDS: Mapping[str, Mutator] = {
    "JSONPatch": JSONPatch(),
    "ApplyConfiguration": ApplyConfiguration(),
}
