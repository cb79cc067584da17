"""Policies of Kubernetes' own kinds written as policyd's Policy. No tests here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policyd.json_types import JSONObject
from policyd.policy.source import loader
from policyd.versions import NEWEST
from tests.e2e.differential.asking import is_binding
from tests.e2e.differential.rows import Row

# Fields of a binding that a Policy has itself.
_OF_BINDING = ("paramRef", "validationActions")
# Fields of matchResources, of which a Policy has one for what two objects say otherwise.
_NARROWING = ("namespaceSelector", "objectSelector", "resourceRules", "matchPolicy")


class Sources:
    """The policies of rows as the sources of their exports."""

    def __init__(self, rows: Iterable[Row]) -> None:
        # Rows share policies, some with a binding for each: those cannot be the same Policy.
        forms: dict[str, set[str]] = {}
        self._written: dict[str, tuple[Sequence[JSONObject], str]] = {}
        for row in rows:
            found, why = written(row["policies"])
            if len(found) > 1 and row.get("expectAny"):
                found, why = (
                    row["policies"],
                    "the API server leaves the order of policies to chance",
                )
            self._written[row["id"]] = found, why
            for each in found:
                forms.setdefault(each["metadata"]["name"], set()).add(json.dumps(each["spec"]))
        self._several = {name for name, each in forms.items() if len(each) > 1}

    def of(self, row: Row) -> tuple[Sequence[JSONObject], str]:
        """The policies of a row as policyd's own; or as they are, with the reason."""
        found, why = self._written[row["id"]]
        if not why and any(each["metadata"]["name"] in self._several for each in found):
            return row["policies"], "other rows bind the same policy otherwise"
        return found, why


def written(documents: Sequence[JSONObject]) -> tuple[Sequence[JSONObject], str]:
    """The documents as Policies; or as they are, with the reason."""
    try:
        found = as_policies(documents)
    except Inexpressible as error:
        return documents, str(error)
    problems = loader.load_built(found, version=NEWEST).problems
    return (documents, f"no Policy: {problems[0].message}") if problems else (found, "")


class Inexpressible(Exception):
    """A Policy cannot say this; the message is the reason."""


def as_policies(documents: Sequence[JSONObject]) -> list[JSONObject]:
    """The policies, each with its binding folded in; raises Inexpressible."""
    bindings: dict[tuple[str, str], list[JSONObject]] = {}
    for each in filter(is_binding, documents):
        of = (each["kind"].removesuffix("Binding"), each["spec"]["policyName"])
        bindings.setdefault(of, []).append(each)
    made = []
    for each in documents:
        if not is_binding(each):
            bound = bindings.pop((each["kind"], each["metadata"]["name"]), [])
            if len(bound) != 1:
                raise Inexpressible("a Policy is its own and only binding")
            made.append(_as_policy(each, bound[0]["spec"]))
    if bindings:
        raise Inexpressible("a Policy is its own and only binding")
    return made


def _as_policy(policy: JSONObject, bound: Mapping[str, Any]) -> JSONObject:
    spec = {**policy["spec"], **{key: bound[key] for key in _OF_BINDING if key in bound}}
    constraints = dict(spec.get("matchConstraints") or {})
    for key, value in (bound.get("matchResources") or {}).items():
        if key == "excludeResourceRules":
            constraints[key] = [*constraints.get(key, ()), *value]
        elif key in _NARROWING and key not in constraints and key != "resourceRules":
            constraints[key] = value
        else:
            raise Inexpressible(f"both policy and binding have {key}")
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": policy["metadata"],
        "spec": {**spec, "matchConstraints": constraints},
    }
