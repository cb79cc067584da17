"""PolicyExceptions of policies.kyverno.io, for the policies that they name.

An exception that only compares the name or namespace of the object becomes one of the Policy;
another condition becomes a matchCondition, since exceptions come before the matchConditions of a
policy (Kyverno pkg/cel/policies/vpol/compiler/policy.go). Images and values that an exception
allows become a variable.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from policyd.cel.syntax.ast import Call, Expr, ListExpr, Literal
from policyd.cel.syntax.recursion import terms_of
from policyd.cel.syntax.unparse import unparse
from policyd.export.expressions.literals import literal
from policyd.export.expressions.rewriting import free_name
from policyd.importers.fields import (
    conjunction,
    enclosed,
    items,
    object_at,
    objects,
    require_fields,
    strings,
)
from policyd.importers.kyverno.cel.libraries import parsed
from policyd.importers.kyverno.cel.rewriting import Rewriting
from policyd.importers.kyverno.cel.validations import condition_name
from policyd.importers.model import ImportNotes, Refused
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_GROUP = "policies.kyverno.io"
_SPEC = ("policyRefs", "matchConditions", "images", "allowedValues", "reportResult", "expiresAt")
# The expressions of conditions on names, and the field of an exception that says the same.
_CRITERIA = {
    "object.metadata.name": "names",
    "request.name": "names",
    "object.metadata.namespace": "namespaces",
    "request.namespace": "namespaces",
}
_ALLOWED = {"images": "allowedImages", "allowedValues": "allowedValues"}


@dataclass(frozen=True, slots=True)
class CelExceptions:
    """``exceptions`` and ``conditions`` of a Policy, and the ``variables`` for what is allowed."""

    notes: ImportNotes
    exceptions: list[JSONObject] = field(default_factory=list)
    conditions: list[JSONObject] = field(default_factory=list)
    variables: list[JSONObject] = field(default_factory=list)


def exceptions_for(
    policy: Document, others: Sequence[Document], rewriting: Rewriting, notes: ImportNotes
) -> tuple[CelExceptions, Rewriting]:
    """Return the exceptions from a policy, and the rewriting of its expressions, which may read
    what they allow. Raises Refused.
    """
    found = CelExceptions(notes)
    allowed: dict[str, list[str]] = {name: [] for name in _ALLOWED.values()}
    for document in _naming(policy, others):
        spec = object_at(document.raw, "spec", "")
        path = f"spec of the PolicyException {document.name}"
        require_fields(spec, _SPEC, path)
        tests = [
            rewriting.field(each, "expression", here)
            for each, here in items(spec, "matchConditions", path, ("name", "expression"))
        ]
        lists = {
            name: strings(spec.get(given), f"{path}.{given}") for given, name in _ALLOWED.items()
        }
        if any(lists.values()):
            if spec.get("expiresAt"):
                raise Refused(f"{path}.expiresAt", "only exceptions from a whole policy expire")
            for name, values in lists.items():
                if values:
                    test = " && ".join(map(enclosed, tests))
                    listed = literal(values)
                    allowed[name].append(f"({test} ? {listed} : [])" if test else listed)
            continue
        _add(found, document, spec, path, tests)
    own = objects(object_at(policy.raw, "spec").get("variables"), "spec.variables")
    taken = [str(each.get("name")) for each in own]
    meanings = dict(rewriting.allowed)
    for name, terms in allowed.items():
        if terms:
            variable = free_name(name, taken)
            expression = " + ".join(terms)
            found.variables.append({"name": variable, "expression": expression})
            meanings[name] = f"variables.{variable}"
            rewriting = rewriting.with_variable(variable, expression)
    return found, replace(rewriting, allowed=meanings)


def _naming(policy: Document, others: Sequence[Document]) -> Iterator[Document]:
    """Yield the exceptions that refer to the policy."""
    for each in others:
        if (each.kind, each.group) == ("PolicyException", _GROUP):
            refs = object_at(each.raw, "spec", "").get("policyRefs")
            for ref in objects(refs, f"spec.policyRefs of the PolicyException {each.name}"):
                if (ref.get("name"), ref.get("kind")) == (policy.name, policy.kind):
                    yield each
                    break


def _add(
    found: CelExceptions, document: Document, spec: JSONObject, path: str, tests: list[str]
) -> None:
    criteria = _criteria(tests)
    expires = str(spec.get("expiresAt") or "")
    if criteria is None:
        if expires:
            text = "a condition does not expire; only exceptions by name or namespace do"
            raise Refused(f"{path}.expiresAt", text)
        name = free_name(
            condition_name(f"exception-{document.name}"),
            [str(each["name"]) for each in found.conditions],
        )
        found.conditions.append({"name": name, "expression": f"!{enclosed(conjunction(tests))}"})
        return
    one: JSONObject = {"name": document.name, **criteria}
    if expires:
        one["until"] = expires[:10]
        text = f"it expires at the end of {expires[:10]}, in UTC, and not at {expires}"
        found.notes.remark(f"{path}.expiresAt", text)
    found.exceptions.append(one)


def _criteria(tests: list[str]) -> JSONObject | None:
    """Return names and namespaces if conditions compare nothing else; None if they do."""
    found: JSONObject = {}
    for test in (part for each in tests for part in terms_of(parsed(each, ""), "_&&_")):
        compared = _compared(test)
        if compared is None or compared[0] in found:
            return None
        found[compared[0]] = compared[1]
    return found


def _compared(test: Expr) -> tuple[str, list[str]] | None:
    """Return criterion and values of ``FIELD == 'a'`` or ``FIELD in ['a', 'b']``."""
    if not isinstance(test, Call) or test.function not in ("_==_", "@in"):
        return None
    field_name = _CRITERIA.get(unparse(test.args[0]))
    other = test.args[1]
    items = list(other.elements) if isinstance(other, ListExpr) else [other]
    values = [each.value for each in items if isinstance(each, Literal)]
    texts = [each for each in values if isinstance(each, str) and not {"*", "?"} & set(each)]
    if field_name is None or not texts or len(texts) != len(items):
        return None
    return field_name, texts
