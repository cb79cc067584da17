"""The ``mutations`` of policies: their fields are the fields of the kinds in ``mutation.KINDS``."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from policyd.mutation import KINDS, MutationKind
from policyd.policy.model.base import Model

KUBERNETES_KINDS = tuple(kind for kind in KINDS.values() if kind.kubernetes)
OWN_KINDS = tuple(kind for kind in KINDS.values() if not kind.kubernetes)

_Holder = TypeVar("_Holder", bound="Mutation")


class ExpressionHolder(Model):
    """``{expression: CEL}``: what to apply (Object{…}) or the patch (list of JSONPatch{…})."""

    expression: str = ""


def _snake(name: str) -> str:
    """Return the Python name of a field in YAML."""
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def _of_kinds(kinds: Iterable[MutationKind]) -> Callable[[type[_Holder]], type[_Holder]]:
    """Give a model the values of patchType of these kinds, and the field of each."""
    named = {kind.patch_type: kind for kind in kinds}
    types: dict[str, Any] = {"patch_type": Literal.__getitem__(tuple(sorted(named)))}
    for name in sorted(named):
        held = dict[str, Any] if named[name].mutator is None else ExpressionHolder
        types[_snake(named[name].field)] = held | None
    values = dict.fromkeys(types) | {"patch_type": "JSONPatch"}

    def filled(model: type[_Holder]) -> type[_Holder]:
        body = {**values, "__annotations__": types, "__doc__": model.__doc__}
        return type(model.__name__, (model,), {**body, "__module__": model.__module__})

    return filled


@_of_kinds(KUBERNETES_KINDS)
class Mutation(Model):
    """One change to the object: exactly the field that patchType names is set."""

    patch_type: str = "JSONPatch"

    @property
    def kind(self) -> MutationKind:
        """The kind that patchType names."""
        return KINDS[self.patch_type]

    def held(self, kind: MutationKind) -> ExpressionHolder | dict[str, Any] | None:
        """The value of the field of a kind."""
        found: ExpressionHolder | dict[str, Any] | None = getattr(self, _snake(kind.field), None)
        return found

    @property
    def expression(self) -> str:
        """The CEL text of the patchType in use; empty for a tree."""
        held = self.held(self.kind)
        return held.expression if isinstance(held, ExpressionHolder) else ""


@_of_kinds((*KUBERNETES_KINDS, *OWN_KINDS))
class PolicyMutation(Mutation):
    """A mutation of a Policy: it may also be an overlay, a YAML tree that is merged."""
