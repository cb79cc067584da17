"""Calls of the API server as reads: paths such as
`/api/v1/namespaces/{{ request.namespace }}/services` (kyverno/kyverno pkg/engine/apicall). A GET of
an object that is not there is an error. Kyverno's global context has objects that a
GlobalContextEntry keeps (pkg/globalcontext).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from policyd.export.expressions.cel import MEMBER, RELATION, SUM, TERNARY, Cel, relation
from policyd.importers.jmespath.cel import every, negated, quoted, variable
from policyd.importers.jmespath.functions.scalars import as_string
from policyd.importers.jmespath.interpolation import (
    has_variables,
    queried,
    split_outside,
    term_of,
)
from policyd.importers.jmespath.kinds import ANY, MAP, STRING, JsonKind
from policyd.importers.jmespath.reading import constant
from policyd.importers.jmespath.terms import CelTerm, single
from policyd.importers.jmespath.values import EACH, CelValue
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.reads import ReadKind, ReadPlace, Unreadable, selected_labels
from policyd.json_types import JSON, JSONObject

_OWN_NAMESPACE = re.compile(
    r"\{\{\s*+request\.(?:namespace|(?:object|oldObject)\.metadata\.namespace)\s*+\}\}"
)
_TERM = re.compile(r"\s*+([-./\w]++)\s*+(==|!=|=)(?!=)(.*)", re.DOTALL)
# Fields by which an API server selects, beside the name and the namespace.
_OF_PODS = ("spec.nodeName", "spec.serviceAccountName", "status.phase")
# Kinds that are one type of CEL.
_ALIKE = frozenset({"string", "bool"})
_CALL = frozenset({"urlPath", "method", "jmesPath", "default"})


@dataclass(frozen=True, slots=True)
class ListAnswer(CelValue):
    """The answer to a GET of a list: an object that has the ``items``."""

    items: CelValue | None = None

    def select(self, name: str, kind: JsonKind = ANY) -> CelValue:
        """Return the items.

        Raises NotTranslatable for any other field.
        """
        if name != "items" or self.items is None:
            raise NotTranslatable(f"`{name}` of a list has no counterpart, only its `items` have")
        return self.items


@dataclass(frozen=True, slots=True)
class _Fetched:
    # `there` is true if it is an object that exists.
    value: CelValue
    kind: ReadKind
    there: Cel | None = None


def called(written: JSON, scope: Vocabulary, *, early: bool) -> CelTerm:
    """Return the value of an `apiCall`. ``early``: for an expression that cannot see
    ``namespaceObject``.

    Raises NotTranslatable and Unreadable.
    """
    if not isinstance(written, dict) or "service" in written:
        raise Unreadable("it asks another service than the API server")
    if str(written.get("method", "GET")).upper() != "GET":
        raise Unreadable("a POST asks for more than objects that exist")
    if unknown := set(written) - _CALL:
        raise Unreadable(f"`{min(unknown)}` has no counterpart")
    found = _fetched(str(written.get("urlPath", "")), scope, early=early)
    query, default = written.get("jmesPath"), written.get("default")
    value = queried(query, scope, found.value) if query else found.value
    if default is None or (found.there is None and found.kind.built_in):
        return value  # a list of such a kind is always there
    if found.there is None:
        raise Unreadable(
            "its `default` is for clusters without this kind, where a read is an error"
        )
    if has_variables(default):
        raise Unreadable("Kyverno leaves `{{ }}` in its `default` as it is")
    either = (single(value), constant(default))
    kind = value.kind if value.kind == either[1].kind and value.kind.name in _ALIKE else ANY
    texts = [each.text() if kind != ANY else f"dyn({each.text()})" for each in either]
    chosen = f"{found.there.at(RELATION)} ? {texts[0]} : {texts[1]}"
    return CelValue(Cel(chosen, TERNARY), kind, name=either[0].name)


def _fetched(url: str, scope: Vocabulary, *, early: bool) -> _Fetched:
    """Return what a GET of a path answers."""
    path, *query = split_outside(url, "?")
    match [each for each in split_outside(path, "/") if each]:
        case ["api", api_version, *rest]:
            pass
        case ["apis", group, version, *rest]:
            api_version = f"{group}/{version}"
        case _:
            raise Unreadable(f"`{url}` is no path of a resource")
    namespace = rest[1] if rest[2:] and rest[0] == "namespaces" else None
    resource, *names = rest[2:] if namespace else rest or [""]
    name = names[0] if names else None
    if not resource or names[1:]:
        raise Unreadable(f"`{url}` is no path of objects: policyd reads no subresources")
    if has_variables([api_version, resource]):
        raise Unreadable("the kind of a read cannot depend on the request")
    if name is not None and query:
        raise Unreadable("a query after the name of an object has no counterpart")
    every_place = namespace is None and name is None
    kind = scope.reads.kind(api_version, resource, placed=namespace is not None or every_place)
    if kind.namespaced != (namespace is not None) and not (kind.namespaced and every_place):
        raise Unreadable(f"`{url}` is no path of {resource}")
    if name is None:
        items = _listed(kind, _place(namespace, scope), "".join(query), scope)
        return _Fetched(ListAnswer(Cel(f"{{'items': {items.text()}}}"), MAP, items=items), kind)
    present = _present(kind, "kind", "apiVersion")
    own = resource == "namespaces" and _OWN_NAMESPACE.fullmatch(name)
    if own and not early and not scope.meanings["request.namespace"].may_be_missing:
        return _Fetched(CelValue(Cel("namespaceObject"), MAP, present=present), kind)
    place = ReadPlace(own=True) if own else _place(namespace, scope)
    whole, key = scope.reads.by_name(kind, place, as_string(term_of(name, scope)).at(SUM))
    value = CelValue(Cel(f"{whole}[{key}][0]"), MAP, present=present, name=kind.words)
    return _Fetched(value, kind, relation(key, "in", whole))


def _place(namespace: str | None, scope: Vocabulary) -> ReadPlace:
    if namespace is None:
        return ReadPlace()
    if _OWN_NAMESPACE.fullmatch(namespace):
        return ReadPlace(own=True)
    if not has_variables(namespace):
        return ReadPlace(namespace)
    return ReadPlace(data=as_string(term_of(namespace, scope)).at(SUM))


def _listed(kind: ReadKind, place: ReadPlace, query: str, scope: Vocabulary) -> CelValue:
    item = variable(kind.words, scope.taken)
    labels: list[str] = []
    tests: list[Cel] = []
    for part in filter(None, split_outside(query, "&")):
        field, _, value = part.partition("=")
        terms = [each for each in re.split(r",(?![^()]*+\))", unquote(value)) if each.strip()]
        if field == "labelSelector":
            labels += [each for each in terms if not has_variables(each)]
            terms = [each for each in terms if has_variables(each)]
        elif field != "fieldSelector":
            raise Unreadable(f"`{field}` of its path has no counterpart")
        tests += _tests(field, terms, kind, item, scope)
    selector = selected_labels(",".join(labels)) if labels else None
    whole = scope.reads.objects(kind, place, selector)
    if tests:
        whole = f"{whole}.filter({item}, {every(*tests).text})"
    return objects_of(whole, kind)


def _tests(
    field: str, terms: list[str], kind: ReadKind, item: str, scope: Vocabulary
) -> Iterator[Cel]:
    """Yield what a read cannot select: fields, and labels that only the request knows."""
    for term in terms:
        found = _TERM.fullmatch(term)
        if found is None:
            raise Unreadable(f"the selector `{term}` has no counterpart")
        name, sign, wanted = found[1], found[2], as_string(term_of(found[3].strip(), scope))
        whole = CelValue(Cel(item), MAP, present=_present(kind))
        if field == "labelSelector":
            label = whole.select("metadata").select("labels").at(Cel(quoted(name)), STRING)
            test = relation(label.optional(), "==", f"optional.of({wanted.text})")
        elif name in _present(kind) or (kind.resource == "pods" and name in _OF_PODS):
            for step in name.split("."):
                whole = whole.select(step)
            test = relation(whole.or_value("''"), "==", wanted.at(MEMBER))
        else:
            raise Unreadable(f"no read selects {kind.resource} by `{name}`")
        yield negated(test) if sign == "!=" else test


def objects_of(whole: str, kind: ReadKind) -> CelValue:
    """Return the list of objects that CEL of a read is."""
    present = frozenset(f"{EACH}{each}" for each in _present(kind))
    return CelValue(Cel(whole), JsonKind("list", MAP), present=present, name=kind.words)


def _present(kind: ReadKind, *more: str) -> frozenset[str]:
    placed = ("metadata.namespace",) if kind.namespaced else ()
    return frozenset(("metadata", "metadata.name", *placed, *more))


def referenced(written: JSON, scope: Vocabulary) -> CelTerm:
    """Return the value of a `globalReference`.

    Raises NotTranslatable and Unreadable.
    """
    if not isinstance(written, dict) or set(written) - {"name", "jmesPath"}:
        raise Unreadable("expected `name` and `jmesPath`")
    name, _, projection = str(written.get("name", "")).partition(".")
    value = cached(name, projection, scope)
    query = written.get("jmesPath")
    return queried(query, scope, value) if query else value


def cached(name: str, projection: str, scope: Vocabulary) -> CelTerm:
    """Return what Kyverno's global context has under a name.

    Raises NotTranslatable and Unreadable.
    """
    entries = (each for each in scope.reads.sources if each.kind == "GlobalContextEntry")
    found = [each.raw.get("spec") for each in entries if each.name == name]
    spec = found[0] if found else None
    if not isinstance(spec, dict) or any(each != spec for each in found):
        many = "more than one" if found else "no"
        raise Unreadable(f"the sources have {many} GlobalContextEntry {name}")
    value = _entry(spec, scope)
    if not projection:
        return value
    listed = spec.get("projections")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("name") == projection:
            return queried(str(each.get("jmesPath", "")), scope, value)
    raise Unreadable(f"the GlobalContextEntry {name} has no projection {projection}")


def _entry(spec: JSONObject, scope: Vocabulary) -> CelTerm:
    resource, call = spec.get("kubernetesResource"), spec.get("apiCall")
    if isinstance(resource, dict):
        group, version = resource.get("group") or "", str(resource.get("version", ""))
        namespace = str(resource.get("namespace") or "")
        api_version = f"{group}/{version}" if group else version
        kind = scope.reads.kind(api_version, str(resource.get("resource")), placed=True)
        return objects_of(scope.reads.objects(kind, ReadPlace(namespace)), kind)
    if not isinstance(call, dict) or has_variables(call):
        raise Unreadable("its GlobalContextEntry has no `kubernetesResource`")
    fields = ("urlPath", "method", "service")  # the others say how often it is called
    return called({field: call[field] for field in fields if field in call}, scope, early=True)
