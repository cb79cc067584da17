"""What Kyverno gets from the API server, as reads: paths such as
`/api/v1/namespaces/{{ request.namespace }}/services`, and entries of its global context.

Kyverno pkg/engine/apicall and pkg/globalcontext. A GET of an object that is not there is an error.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl

from policyd.importers.jmespath.cel import (
    RELATION,
    TERNARY,
    Cel,
    every,
    negated,
    quoted,
    relation,
    variable,
)
from policyd.importers.jmespath.functions.scalars import as_string
from policyd.importers.jmespath.interpolation import has_variables, pieces, queried, term_of
from policyd.importers.jmespath.kinds import ANY, MAP, STRING, JsonKind
from policyd.importers.jmespath.reading import constant
from policyd.importers.jmespath.terms import CelTerm, single
from policyd.importers.jmespath.values import EACH, CelValue, Joined
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.reads import (
    BY_BOTH,
    BY_NAME,
    BY_NAMESPACE,
    ReadKind,
    Unreadable,
    selected_labels,
)
from policyd.json_types import JSON, JSONObject
from policyd.policy.model import reads

_OBJECTS = JsonKind("list", MAP)
# What stands for a variable while a path is split.
_MARK = "\ue002"
_OWN_NAMESPACE = re.compile(
    r"\{\{\s*+request\.(?:namespace|(?:object|oldObject)\.metadata\.namespace)\s*+\}\}"
)
# Strings that an API server selects by, beside metadata.name and metadata.namespace.
_SELECTED = {
    "pods": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "status.phase",
    ),
    "namespaces": ("status.phase",),
}  # fmt: skip
_TERM = re.compile(r"\s*+([-./\w]++)\s*+(==|!=|=)(?!=)(.*)", re.DOTALL)
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
    """What a path gets; ``there`` is true if it is an object that exists."""

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
    if default is None:
        return value
    if found.there is None:
        if found.kind.built_in:
            return value  # Kyverno takes the default where the cluster has no such kind
        raise Unreadable("its `default` is for clusters without this kind, where a read is an error")
    if has_variables(default):
        raise Unreadable("Kyverno leaves `{{ }}` in its `default` as it is")
    return _or_default(single(value), constant(default), found.there)


def _or_default(value: CelValue, default: CelValue, there: Cel) -> CelValue:
    texts = [value.text(), default.text()]
    kind = value.kind
    if kind != default.kind:
        texts, kind = [f"dyn({each})" for each in texts], ANY
    chosen = f"{there.at(RELATION)} ? {texts[0]} : {texts[1]}"
    return CelValue(Cel(chosen, TERNARY), kind, name=value.name)


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
    entry = next((each.raw for each in entries if each.name == name), None)
    spec = entry.get("spec") if entry is not None else None
    if not isinstance(spec, dict):
        raise Unreadable(f"the sources have no GlobalContextEntry {name}")
    value = _entry(spec, scope)
    if not projection:
        return value
    for each in spec.get("projections") or ():
        if isinstance(each, dict) and each.get("name") == projection:
            return queried(str(each.get("jmesPath", "")), scope, value)
    raise Unreadable(f"the GlobalContextEntry {name} has no projection {projection}")


def _entry(spec: JSONObject, scope: Vocabulary) -> CelValue:
    resource, call = spec.get("kubernetesResource"), spec.get("apiCall")
    if isinstance(resource, dict):
        group, version = resource.get("group") or "", str(resource.get("version", ""))
        namespace = str(resource.get("namespace") or "")
        api_version = f"{group}/{version}" if group else version
        kind = scope.reads.kind(api_version, str(resource.get("resource")), placed=bool(namespace))
        return _items(scope.reads.declare(kind, namespace=namespace or reads.ANY), kind)
    if not isinstance(call, dict) or has_variables(call):
        raise Unreadable("its GlobalContextEntry has no `kubernetesResource`")
    value = called({k: v for k, v in call.items() if k in _CALL or k == "service"}, scope, early=True)
    return single(value)


def _fetched(url: str, scope: Vocabulary, *, early: bool) -> _Fetched:
    """Return what a GET of a path answers."""
    path, _, query = _marked(url).partition("?")
    segments = [_unmarked(each, url) for each in path.split("/") if each]
    match segments:
        case ["api", version, *rest]:
            api_version = version
        case ["apis", group, version, *rest]:
            api_version = f"{group}/{version}"
        case _:
            raise Unreadable(f"`{url}` is no path of a resource")
    match rest:
        case ["namespaces", namespace, _, *_]:
            rest = rest[2:]
        case _:
            namespace = None
    match rest:
        case [resource]:
            name = None
        case [resource, name]:
            pass
        case _:
            raise Unreadable(f"`{url}` is no path of objects: policyd reads no subresources")
    if has_variables([api_version, resource]):
        raise Unreadable("the kind of a read cannot depend on the request")
    kind = scope.reads.kind(api_version, resource, placed=namespace is not None)
    if kind.namespaced != (namespace is not None) and not (kind.namespaced and name is None):
        raise Unreadable(f"`{url}` is no path of {resource}")
    if name is None:
        conditions = [(field, _unmarked(value, url)) for field, value in parse_qsl(query)]
        found = _listed(kind, namespace, conditions, scope)
        return _Fetched(ListAnswer(Cel(f"{{'items': {found.text()}}}"), MAP, items=found), kind)
    if query:
        raise Unreadable("a query after the name of an object has no counterpart")
    own = resource == "namespaces" and _OWN_NAMESPACE.fullmatch(name)
    present = _present(kind, ("kind", "apiVersion"))
    if own and not early and scope.meanings["request.namespace"].term is None:
        return _Fetched(CelValue(Cel("namespaceObject"), MAP, present=present), kind)
    whole, key = _by_name(kind, namespace, name, scope)
    value = CelValue(Cel(f"{whole}[{key.text}][0]"), MAP, present=present, name=kind.resource)
    return _Fetched(value, kind, relation(key.at(RELATION + 1), "in", whole))


def _by_name(
    kind: ReadKind, namespace: str | None, name: str, scope: Vocabulary
) -> tuple[str, Cel]:
    """Return a read of single objects, and the key of one of them."""
    own = as_string(term_of(name, scope))
    if namespace is None:
        within = kind.resource == "namespaces" and _OWN_NAMESPACE.fullmatch(name)
        place = reads.SAME if within else reads.ANY
        return scope.reads.declare(kind, namespace=place, key=BY_NAME), own
    where, data = _place(namespace, scope)
    if data is None:
        return scope.reads.declare(kind, namespace=where, key=BY_NAME), own
    key = Joined.of([data, "/", own]).base
    return scope.reads.declare(kind, key=BY_BOTH), key


def _place(namespace: str, scope: Vocabulary) -> tuple[str, Cel | None]:
    """Return the namespace of a read, and CEL of the namespace if only the request knows it."""
    if _OWN_NAMESPACE.fullmatch(namespace):
        return reads.SAME, None
    if not has_variables(namespace):
        return namespace, None
    return reads.ANY, as_string(term_of(namespace, scope))


def _listed(
    kind: ReadKind, namespace: str | None, query: Iterable[tuple[str, str]], scope: Vocabulary
) -> CelValue:
    where, data = (reads.ANY, None) if namespace is None else _place(namespace, scope)
    labels: list[str] = []
    item = variable(kind.resource, scope.taken)
    tests = [test for field, value in query for test in _tests(field, value, kind, item, scope)]
    for field, value in query:
        if field == "labelSelector":
            labels += [each for each in _terms(value) if not has_variables(each)]
    selector = selected_labels(",".join(labels)) if labels else None
    key = "" if data is None else BY_NAMESPACE
    whole = scope.reads.declare(kind, namespace=where, key=key, labels=selector)
    if data is not None:
        whole = f"{whole}[?{data.text}].orValue([])"
    if tests:
        whole = f"{whole}.filter({item}, {every(*tests).text})"
    return _items(whole, kind)


def _tests(
    field: str, value: str, kind: ReadKind, item: str, scope: Vocabulary
) -> Iterator[Cel]:
    """Yield what a read cannot select: fields, and labels that only the request knows."""
    if field not in ("labelSelector", "fieldSelector"):
        raise Unreadable(f"`{field}` of its path has no counterpart")
    for term in _terms(value):
        if field == "labelSelector" and not has_variables(term):
            continue
        found = _TERM.fullmatch(term)
        if found is None or has_variables(found[1]):
            raise Unreadable(f"the selector `{term}` has no counterpart")
        wanted = as_string(term_of(found[3].strip(), scope))
        whole = CelValue(Cel(item), MAP, present=_present(kind))
        if field == "labelSelector":
            label = whole.select("metadata").select("labels").at(Cel(quoted(found[1])), STRING)
            test = relation(label.optional(), "==", f"optional.of({wanted.text})")
        elif found[1] in _SELECTED.get(kind.resource, ()) or found[1] in _present(kind):
            for step in found[1].split("."):
                whole = whole.select(step)
            test = relation(whole.or_value("''"), "==", wanted.at(RELATION + 1))
        else:
            raise Unreadable(f"{kind.resource} are not selected by `{found[1]}`")
        yield negated(test) if found[2] == "!=" else test


def _terms(selector: str) -> list[str]:
    """Return the terms of a selector, which are separated by commas outside of parentheses."""
    return [each for each in re.split(r",(?![^()]*+\))", selector) if each.strip()]


def _items(whole: str, kind: ReadKind) -> CelValue:
    present = frozenset(f"{EACH}{each}" for each in _present(kind))
    return CelValue(Cel(whole), _OBJECTS, present=present, name=kind.resource)


def _present(kind: ReadKind, more: tuple[str, ...] = ()) -> frozenset[str]:
    placed = ("metadata.namespace",) if kind.namespaced else ()
    return frozenset(("metadata", "metadata.name", *placed, *more))


def _marked(url: str) -> str:
    """Return a path with a mark for each of its variables, which may have any character."""
    found = enumerate(pieces(url))
    return "".join(
        each if isinstance(each, str) else f"{_MARK}{index}{_MARK}" for index, each in found
    )


def _unmarked(part: str, url: str) -> str:
    """Return a part of a path with the variables that marks stand for."""
    written = pieces(url)
    texts = part.split(_MARK)
    for index in range(1, len(texts), 2):
        texts[index] = f"{{{{{written[int(texts[index])][0]}}}}}"
    return "".join(texts)
