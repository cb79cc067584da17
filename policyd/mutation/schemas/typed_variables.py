"""Which variables hold Go values for an expression outside of policies, such as a webhook's
matchCondition.
"""

from collections.abc import Mapping
from typing import Any

from policyd._core.plan.plan import typing_of
from policyd.mutation.schemas.request_type import REQUEST_KIND
from policyd.mutation.schemas.schemas import Gvk, Schemas
from policyd.versions import TYPED_VALUES, KubernetesVersion

_KINDS = {"request": REQUEST_KIND, "namespaceObject": ("", "v1", "Namespace")}
_OBJECTS = ("object", "oldObject", "params")  # of the kinds that they name


def typed_variables(variables: Mapping[str, Any], version: KubernetesVersion) -> object:
    """Return the ``typing`` for ``Program.evaluate_with_cost``; None: all variables are JSON."""
    if not version.has(TYPED_VALUES):
        return None
    given = {name: value for name, value in variables.items() if isinstance(value, dict)}
    kinds = {**_KINDS, **{name: (*Gvk.of_object(given.get(name)),) for name in _OBJECTS}}
    roots = tuple((given[name], kind) for name, kind in kinds.items() if name in given)
    return typing_of(Schemas.builtin(version), roots) if roots else None
