"""Calls of Kyverno's CEL libraries that get objects of the cluster, as reads.

github.com/kyverno/sdk, extensions/cel/libs/resource and globalcontext. An object that is not there
is null.
"""

from collections.abc import Mapping

from policyd.cel.syntax.ast import Literal
from policyd.cel.syntax.lexer import tokenize
from policyd.export.expressions.rewriting import free_name
from policyd.importers.fields import enclosed
from policyd.importers.jmespath.cel import quoted
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.api_calls import ListAnswer, cached
from policyd.importers.kyverno.cel.calls import SourceCall
from policyd.importers.kyverno.cel.libraries import parsed
from policyd.importers.model import Refused
from policyd.importers.reads import PolicyReads, ReadKind, ReadPlace, Unreadable

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
    placed = literal_of(namespace) != "" or call.name in LISTS
    kind = reads.kind(api_version, resource, placed=placed)
    if not kind.namespaced and literal_of(namespace) != "" and not reads.within:
        raise Unreadable(f"{resource} are in no namespace")
    place = _place(kind, namespace)
    if call.name in GETS:
        if kind.namespaced and place == ReadPlace():
            raise Unreadable(f"{resource} are in a namespace, which is not named")
        whole, key = reads.by_name(kind, place, operand(given[3]) if place.data else given[3])
        return f"{whole}[?{key}][?0].orValue(null)"
    whole = reads.objects(kind, place, everywhere=True)
    if len(given) > wanted:
        labels = operand(given[3])
        used = [token.text for token in tokenize(labels)[0]]  # such as variables of macros around
        each, label = (free_name(name, used) for name in ("each", "label"))
        test = f"{each}.metadata.?labels[?{label}].orValue(null) == {labels}[{label}]"
        whole = f"{whole}.filter({each}, {labels}.all({label}, {test}))"
    return whole


def _place(kind: ReadKind, namespace: str) -> ReadPlace:
    if not kind.namespaced:
        return ReadPlace()
    if namespace in OWN_NAMESPACE:
        return ReadPlace(own=True)
    written = literal_of(namespace)
    return ReadPlace(data=operand(namespace)) if written is None else ReadPlace(written)


def operand(text: str) -> str:
    """Return an argument as an operand, or as the target of a method."""
    return text if all(part.isidentifier() for part in text.split(".")) else enclosed(text)


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
