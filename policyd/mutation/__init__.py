"""Mutations: apply the values of mutation expressions to objects, one file per kind.

``KINDS`` lists the kinds by patchType: models, compiler and lint derive from it.
"""

from collections.abc import Mapping
from importlib import import_module

from policyd.errors import MutationError, StatusError
from policyd.mutation.kind import MutationKind, Mutator
from policyd.mutation.schemas.schemas import Schemas, Target

__all__ = [
    "KINDS",
    "MutationError",
    "MutationKind",
    "Mutator",
    "Schemas",
    "StatusError",
    "Target",
]

# Each module has one kind, named ``KIND``: a new kind is a file and a line here.
MODULES = (
    "policyd.mutation.jsonpatch",
    "policyd.mutation.apply_configuration",
    "policyd.mutation.overlay",
)


def _kinds() -> Mapping[str, MutationKind]:
    kinds: list[MutationKind] = [import_module(module).KIND for module in MODULES]
    return {kind.patch_type: kind for kind in kinds}


KINDS = _kinds()
