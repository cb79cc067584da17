"""A kind of mutation: its patchType, the field that holds it, and how it changes an object.

``policyd.mutation.KINDS`` lists them all.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from policyd._core.plan.mutators import DirectMutator
from policyd._core.values.read_trees import ReadTrees
from policyd.cel.types.types import Type
from policyd.mutation.schemas.schemas import Target


class Mutator(Protocol):
    """Applies the values of one kind of mutation. ``direct`` is the form for valid values and kinds
    with a Go type, which notes the changes, or None.
    """

    @property
    def direct(self) -> DirectMutator | None: ...

    def apply(
        self,
        value: object,
        obj: dict[str, Any],
        target: Target,
        sources: ReadTrees | None = None,
    ) -> dict[str, Any]:
        """Return the mutated object, or ``obj`` itself if nothing changed.

        ``value`` is the result of the expression, ``target`` the kind (``Schemas.target``).
        ``sources`` are the trees that the expression could read: Kubernetes distinguishes their
        maps from maps that the expression created. Without ``sources``, all maps and lists are
        accepted. ``obj`` never changes; the result shares unchanged parts. Raises MutationError
        (failurePolicy decides; the message follows "denied request: ") or StatusError (the request
        fails).
        """


@dataclass(frozen=True, slots=True)
class MutationKind:
    """One patchType.

    ``field`` is the field of a mutation that holds it; ``about`` describes it in the JSON Schema.
    With a ``mutator`` it is ``{expression: CEL}``, the value has one of the types ``results``, and
    the mutator applies it; otherwise it is a tree, compiled as an overlay. ``kubernetes``:
    MutatingAdmissionPolicy supports it too, not only Policy. ``merges``: it needs the schema of the
    object's kind.
    """

    patch_type: str
    field: str
    about: str
    results: tuple[Type, ...] = ()
    mutator: Mutator | None = None
    kubernetes: bool = False
    merges: bool = False
