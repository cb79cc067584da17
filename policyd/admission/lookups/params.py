"""The params of one request, from the policy sources and from lookups in a cluster.

Evaluates nothing and fetches nothing: ``lookups/tasks.py`` fetches.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from policyd._core.lib.authorization import Failure
from policyd.errors import Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiled import CompiledParamRef
from policyd.policy.compile.params import (
    KnownParamKind,
    ParamError,
    ParamStore,
    collect,
    find,
    key_of,
    unknown_kind,
)
from policyd.policy.kinds.served_resource import Served

_Answer = TypeVar("_Answer")


class KindOf(NamedTuple):
    """The lookup of a kind's resource; the answer is empty if the cluster does not serve it."""

    api_version: str
    kind: str


class ParamsOf(NamedTuple):
    """The lookup of objects of a kind in one namespace, by name or by selector (in the API server's
    syntax).
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    selector: str = ""


LookUpKind = Callable[[KindOf], "tuple[Served, ...] | Failure | None"]
LookUpParams = Callable[[ParamsOf], "tuple[JSONObject, ...] | Failure | None"]


class LookedUpParams:
    """A ParamSource: params from the policy sources and, through ``look_up_…``, from a cluster; the
    sources take precedence.

    None means not known yet and ends the evaluation (Unanswered). Within one request the first
    answer is kept.
    """

    def __init__(
        self, given: ParamStore, look_up_kind: LookUpKind, look_up_params: LookUpParams
    ) -> None:
        self._given = given
        self._look_up_kind = look_up_kind
        self._look_up_params = look_up_params
        self._seen: dict[object, object] = {}

    def kind(self, param_kind: tuple[str, str]) -> KnownParamKind:
        """Return the kind from the sources or the cluster; ParamError if neither has it."""
        if self._given.is_certain(param_kind):
            return self._given.kind(param_kind)
        question = KindOf(*param_kind)
        served = self._answer(
            question, self._look_up_kind, f"the resource of kind {param_kind[1]} is"
        )
        if isinstance(served, Failure):
            if not self._given.knows(param_kind):
                raise ParamError(f"{unknown_kind(param_kind)}: {served.why}")
            return self._given.kind(param_kind)
        if not served:
            return self._given.kind(param_kind)
        return self._given.kind_in(param_kind, served[0].namespaced)

    def collect(
        self, kind: KnownParamKind, ref: CompiledParamRef, namespace: str
    ) -> list[JSONObject]:
        """Return the params of a binding for a request in ``namespace``, sorted by name."""
        return collect(kind, ref, namespace, self._find)

    def _find(self, kind: KnownParamKind, ref: CompiledParamRef, where: str) -> list[JSONObject]:
        """Return the params of the sources and of the cluster."""
        given = find(kind, ref, where)
        if ref.name and given:
            return given
        api_version, name = kind.name
        selector = "" if ref.name else selector_text(ref.selector or {})
        question = ParamsOf(api_version, name, where, ref.name, selector)
        found = self._answer(question, self._look_up_params, f"the params of kind {name} are")
        if not isinstance(found, Failure) and not all(map(_is_identified, found)):
            found = Failure("the API server returned objects without names")
        if isinstance(found, Failure):
            raise ParamError(
                f"paramKind kind `&ParamKind{{APIVersion:{api_version},Kind:{name},}}` "
                f"not yet synced to use for admission: {found.why}"
            )
        typed = ({**each, "apiVersion": api_version, "kind": name} for each in found)
        objects = {key_of(each, kind.namespaced): each for each in typed}
        objects = {key: each for key, each in objects.items() if key not in kind.objects}
        live = find(replace(kind, objects=objects), ref, where)
        return sorted([*given, *live], key=lambda each: key_of(each, kind.namespaced))

    def _answer(
        self,
        question: object,
        look_up: Callable[..., _Answer | Failure | None],
        what: str,
    ) -> _Answer | Failure:
        answer: _Answer | Failure | None = self._seen.get(question)  # type: ignore[assignment]
        if answer is None:
            answer = look_up(question)
            if answer is None:
                raise Unanswered(question, f"{what} not known in time")
            self._seen[question] = answer
        return answer


def _is_identified(obj: object) -> bool:
    """Whether an object has a valid name and, if it is namespaced, a valid namespace."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return False
    return isinstance(metadata.get("namespace") or "", str)


def selector_text(selector: Mapping[str, JSON]) -> str:
    """Return a LabelSelector in the syntax of the API server's list requests."""
    labels = sorted((selector.get("matchLabels") or {}).items())
    parts = [f"{key}={value}" for key, value in labels]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(each.get("values") or ())
        parts.append(_OPERATORS[each["operator"]].format(key=key, values=values))
    return ",".join(parts)


_OPERATORS = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}
