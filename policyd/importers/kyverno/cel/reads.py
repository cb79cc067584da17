"""Calls of Kyverno's CEL libraries that get objects of the cluster, as reads.

github.com/kyverno/sdk, extensions/cel/libs/resource and globalcontext. An object that is not there
is null.
"""

from collections.abc import Mapping, Sequence

from policyd.cel.syntax.ast import Literal
from policyd.importers.fields import enclosed
from policyd.importers.jmespath.cel import quoted
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.api_calls import ListAnswer, cached
from policyd.importers.kyverno.cel.calls import SourceCall
from policyd.importers.kyverno.cel.libraries import parsed
from policyd.importers.model import Refused
from policyd.importers.reads import (
    BY_BOTH,
    BY_NAME,
    BY_NAMESPACE,
    PolicyReads,
    ReadKind,
    Unreadable,
)
from policyd.policy.model.reads import ANY, SAME

GETS = frozenset(("resource.Get", "resource.get"))
LISTS = frozenset(("resource.List", "resource.list"))
CACHED = frozenset(("globalContext.Get", "globalContext.get"))
OWN_NAMESPACE = frozenset(
    (
        "object.metadata.namespace",
        "oldObject.metadata.namespace",
        "request.namespace",
        "namespaceObject.metadata.name",
    )
)
# Of a list in a namespace that only the request knows: "" stands for all of them.
_ALL_BY_NAMESPACE = f"['', {BY_NAMESPACE}]"


def read_by(call: SourceCall, reads: PolicyReads, variables: Mapping[str, str]) -> str:
    """Return a call of these functions as CEL that reads; ``variables`` are the expressions of the
    policy's variables. Raises Unreadable.
    """
    if call.name in CACHED:
        return _cached(call, reads)
    wanted = 4 if call.name in GETS else 3
    given = list(call.arguments)
    if reads.within:  # such policies name no namespace
        given.insert(2, quoted(reads.within))
    if len(given) < wanted or (call.name in GETS and len(given) > wanted):
        raise Unreadable("its arguments are not apiVersion, resource, namespace and name")
    api_version, resource = (literal_of(each) for each in given[:2])
    if api_version is None or resource is None:
        raise Unreadable("the kind of a read cannot depend on the request")
    if "/" in resource:
        raise Unreadable("policyd reads no subresources")
    namespace = given[2]
    if namespace.startswith("variables."):
        namespace = variables.get(namespace.removeprefix("variables."), namespace)
    kind = reads.kind(api_version, resource, placed=literal_of(namespace) != "")
    if not kind.namespaced and literal_of(namespace) != "" and not reads.within:
        raise Unreadable(f"{resource} are in no namespace")
    if call.name in GETS:
        return _object(kind, namespace, given[3], reads)
    return _list(kind, namespace, given[3:], reads)


def _object(kind: ReadKind, namespace: str, name: str, reads: PolicyReads) -> str:
    where = _place(kind, namespace)
    if where is None:
        whole = reads.declare(kind, key=BY_BOTH)
        name = f"{enclosed(namespace)} + '/' + {enclosed(name)}"
    elif kind.namespaced and where == ANY:
        raise Unreadable(f"{kind.resource} are in a namespace, which is not named")
    else:
        whole = reads.declare(kind, namespace=where, key=BY_NAME)
    return f"{whole}[?{name}][?0].orValue(null)"


def _list(kind: ReadKind, namespace: str, labels: Sequence[str], reads: PolicyReads) -> str:
    where = _place(kind, namespace)
    if where is None:
        whole = f"{reads.declare(kind, key=_ALL_BY_NAMESPACE)}[?{namespace}].orValue([])"
    else:
        whole = reads.declare(kind, namespace=where)
    if labels:
        wanted = enclosed(labels[0])
        test = f"each.metadata.?labels[?label].orValue(null) == {wanted}[label]"
        whole = f"{whole}.filter(each, {wanted}.all(label, {test}))"
    return whole


def _place(kind: ReadKind, namespace: str) -> str | None:
    """Return the namespace of a read; None if only the request knows it."""
    if not kind.namespaced:
        return ANY
    if namespace in OWN_NAMESPACE:
        return SAME
    written = literal_of(namespace)
    return written if written is None else written or ANY


def _cached(call: SourceCall, reads: PolicyReads) -> str:
    names = [literal_of(each) for each in call.arguments]
    if len(names) not in (1, 2) or names[0] is None or names[-1] is None:
        raise Unreadable("the name of an entry cannot depend on the request")
    projection = names[1] if len(names) > 1 else ""
    try:
        found = cached(names[0], projection or "", Vocabulary(reads=reads))
        if isinstance(found, ListAnswer):
            raise Unreadable(f"the GlobalContextEntry {names[0]} has the answer of an API call")
        return f"({found.text()})"
    except NotTranslatable as error:
        raise Unreadable(str(error)) from None


def literal_of(argument: str) -> str | None:
    """Return a string that an argument spells out; None if it is anything else."""
    try:
        node = parsed(argument, "")
    except Refused:
        return None
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None
