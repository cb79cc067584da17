"""The `context` of a Kyverno rule: variables, ConfigMaps as parameters, objects of the cluster as
reads. A value that Kyverno would fetch elsewhere has no meaning, which refuses an expression that
uses it.
"""

import json
from dataclasses import replace

from policyd.export.expressions.cel import TRUE, Cel
from policyd.importers.jmespath.cel import is_field
from policyd.importers.jmespath.interpolation import is_lenient, queried, term_of
from policyd.importers.jmespath.reading import constant
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.values import CelValue, Constant
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.api_calls import ListAnswer, called, referenced
from policyd.importers.model import Refused
from policyd.importers.reads import Unreadable
from policyd.json_types import JSON, JSONObject

_REGISTRY = "`{name}` is what an image registry says, which a policy cannot ask"
_UNREADABLE = {
    "apiCall": "`{name}` is the result of an API call that no read replaces",
    "globalReference": "`{name}` is in Kyverno's global context, and no read replaces it",
}


def bound(
    entries: JSON, scope: Vocabulary, path: str, *, inline: bool = False
) -> tuple[Vocabulary, JSONObject]:
    """Return the vocabulary with the names of a `context`, and the fields of a Policy's ``spec``
    that it needs: variables and parameters.

    ``inline``: write the values where they are used, as in a loop, whose items a variable cannot
    see. Raises Refused.
    """
    spec: JSONObject = {}
    if entries is None:
        return scope, spec
    if not isinstance(entries, list):
        raise Refused(path, "expected a list of variables")
    for number, entry in enumerate(entries):
        place = f"{path}[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise Refused(place, "expected a variable with a `name`")
        scope = _with_entry(entry, scope, place, spec, inline)
    return scope, spec


def _with_entry(
    entry: JSONObject, scope: Vocabulary, path: str, spec: JSONObject, inline: bool
) -> Vocabulary:
    name = entry["name"]
    kinds = sorted(set(entry) - {"name"})
    if len(kinds) != 1:
        raise Refused(path, f"expected one source for `{name}`, not {len(kinds)}")
    (kind,) = kinds
    given = entry[kind]
    if isinstance(given, dict) and not isinstance(given.get("jmesPath"), str | None):
        raise Refused(f"{path}.{kind}.jmesPath", "expected a string")
    if kind == "imageRegistry":
        return scope.without(name, _REGISTRY.format(name=name))
    if kind == "configMap":
        return _config_map(name, given, scope, f"{path}.configMap", spec)
    try:
        if kind == "apiCall":
            term = called(given, scope, early=inline)
        elif kind == "globalReference":
            term = referenced(given, scope)
        elif kind == "variable":
            term = _variable(given, scope, f"{path}.variable")
        else:
            raise Refused(path, f"`{kind}` is not a source of a variable")
        if inline or isinstance(term, ListAnswer):
            return scope.standing_for(name, term)
        query = given.get("jmesPath") if kind in _UNREADABLE else None
        return _declared(name, term, scope, path, spec, query=query or "")
    except Unreadable as error:
        return scope.without(name, f"{_UNREADABLE[kind].format(name=name)}: {error}")
    except NotTranslatable as error:
        return scope.without(name, f"`{name}` has no counterpart: {error}")


def _declared(
    name: str, term: CelTerm, scope: Vocabulary, path: str, spec: JSONObject, *, query: str
) -> Vocabulary:
    variable = name if is_field(name) else name.replace("-", "_").replace(".", "_")
    if not is_field(variable):
        raise Refused(path, f"`{name}` cannot be the name of a variable in CEL")
    nullable = None if term.kind.name == "list" else _or_null(term, query)
    expression = term.or_value("[]") if term.kind.name == "list" else nullable or term.text()
    variables = spec.setdefault("variables", [])
    if any(each["name"] == variable for each in variables):
        raise Refused(path, f"there is another variable `{variable}`")
    variables.append({"name": variable, "expression": expression})
    if nullable is not None:
        value = CelValue(Cel(f"variables.{variable}"), term.kind, nullable=True, name=term.name)
        return scope.standing_for(name, value)
    present = tuple(term.present) if isinstance(term, CelValue) else ()
    return scope.bound(name, f"variables.{variable}", term.kind, present=present, field=term.name)


def _or_null(term: CelTerm, query: str) -> str | None:
    """Return CEL of what was queried that is null where JMESPath makes null of it, and no error: of
    an item that is not there. None if there is no such case.
    """
    if not term.may_be_missing or not query:
        return None
    if is_lenient(query):
        return term.or_value("null")
    if not isinstance(term, CelValue) or term.needs != TRUE:
        return None
    if not isinstance((*term.steps, "")[0], int):
        return None
    there = replace(term, steps=term.steps[:1]).optional()
    return f"{there}.hasValue() ? dyn({term.text()}) : null"


def _variable(written: JSON, scope: Vocabulary, path: str) -> CelTerm:
    if not isinstance(written, dict):
        raise Refused(path, "expected `value`, `jmesPath` or `default`")
    if unknown := set(written) - {"value", "jmesPath", "default"}:
        raise Refused(path, f"`{min(unknown)}` is not a field of a variable")
    default = None if written.get("default") is None else _value(written["default"], scope)
    query = written.get("jmesPath")
    value = None if "value" not in written else _value(written["value"], scope)
    if query is None and value is None:
        raise Refused(path, "expected `value` or `jmesPath`")
    if query is not None:
        value = queried(query, scope, value)
    assert value is not None
    return value if default is None else _or_default(value, default)


def _value(written: JSON, scope: Vocabulary) -> CelTerm:
    return term_of(written, scope) if isinstance(written, str) else constant(written)


def _or_default(value: CelTerm, default: CelTerm) -> CelTerm:
    # Unlike `||`, a default does not replace what is empty.
    if not value.may_be_missing:
        return value
    if value.kind.name == "list" and isinstance(default, Constant):
        default = constant(_listed_in(default.constant))
    kind = value.kind if value.kind.name != "any" else default.kind
    return CelValue(Cel(value.or_value(default.text())), kind, name=value.name)


def _listed_in(written: object) -> object:
    """Return the list that a string such as ``["a"]`` stands for to Kyverno's operators."""
    try:
        found = json.loads(written) if isinstance(written, str) else written
    except ValueError:
        return written
    return found if isinstance(found, list) else written


def _config_map(
    name: str, written: JSON, scope: Vocabulary, path: str, spec: JSONObject
) -> Vocabulary:
    if not isinstance(written, dict) or not isinstance(written.get("name"), str):
        raise Refused(path, "expected the `name` of a ConfigMap")
    if "{{" in str(written):
        raise Refused(
            path, "the name of a ConfigMap depends on the request; a `paramRef` has one name"
        )
    if "paramRef" in spec:
        raise Refused(path, "there are two ConfigMaps; a policy has one object as parameters")
    spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    spec["paramRef"] = {
        "name": written["name"],
        "namespace": written.get("namespace", "default"),
        "parameterNotFoundAction": "Deny",
    }
    return scope.bound(name, "params", present=("metadata", "data"))
