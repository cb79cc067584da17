"""What a kind of mutation is: its patchType, the field that holds it, and how it changes an object.

``policyd.mutation.KINDS`` has them all.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from policyd.cel.types.types import Type
from policyd.mutation.schemas.schemas import Target


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


@dataclass(frozen=True, slots=True)
class MutationKind:
    """One patchType.

    ``field`` of a mutation holds it, ``about`` says in the JSON Schema what that is. With a
    ``mutator`` it is ``{expression: CEL}``, the value has one of the types ``results``, and the
    mutator applies it; else it is a tree, compiled as an overlay. ``kubernetes``:
    MutatingAdmissionPolicy has it; others only a Policy. ``merges``: objects cannot be changed
    without the schema of their kind.
    """

    patch_type: str
    field: str
    about: str
    results: tuple[Type, ...] = ()
    mutator: Mutator | None = None
    kubernetes: bool = False
    merges: bool = False
