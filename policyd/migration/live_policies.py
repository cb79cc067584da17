"""Reads the policies of other engines in a cluster, and related objects. Converts nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd.cluster.listing import (
    ApiReader,
    ApiReadError,
    document_of,
    pages_of,
    served,
    unread,
)
from policyd.errors import ConfigError, Problem
from policyd.importers.all import is_exception, is_policy, is_read_live, merged_into
from policyd.json_types import JSONObject, object_in, values_in
from policyd.policy.kinds.definitions import API_VERSION, KIND
from policyd.policy.kinds.served_resource import Served
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import NO_TEXT, Chunk, Origin

MOST_OBJECTS = 10_000  # policies, exceptions and related objects, in memory at once
ReadProgress = Callable[[str, int, int], None]


@dataclass(slots=True)
class LivePolicies:
    """The result of reading. ``documents`` are policies, exceptions and, without their schemas,
    definitions of all custom kinds that the cluster serves; ``unread`` lists failed reads with
    their reasons; ``incomplete`` the kinds whose list is incomplete, ``*`` if others may be
    missing.
    """

    documents: list[Document] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)
    incomplete: set[str] = field(default_factory=set)


def read_policies(
    reader: ApiReader, namespaces: Sequence[str], advance: ReadProgress
) -> LivePolicies:
    """Return the policies of a cluster; with ``namespaces`` only those in them, but exceptions of
    all namespaces. Raises ConfigError if the cluster cannot be queried, or has too many.
    """
    found = LivePolicies()
    try:
        failed: list[str] = []
        resources = list(served(reader, lambda group: True, failed.append))
    except ApiReadError as error:
        raise ConfigError(f"cannot discover the cluster's resources: {error}") from None
    found.unread += map(Problem, failed)
    found.incomplete |= {"*"} if failed else set()
    preferred = {(each.group, each.resource): each for each in reversed(resources)}
    for resource in reversed(preferred.values()):
        wanted = is_read_live(resource.group, resource.kind)
        if wanted and (resource.namespaced or not namespaces):
            everywhere = not namespaces or is_exception(resource.group, resource.kind)
            for namespace in [""] if everywhere else dict.fromkeys(namespaces):
                _read(reader, resource, namespace, found, advance)
    if namespaces:
        found.documents = _belonging(found.documents)
    found.documents += _definitions(resources)
    return found


def missing_config_maps(reader: ApiReader, live: LivePolicies) -> Iterator[Problem]:
    """Yield a problem for each ConfigMap that a Kyverno policy names and that is missing or cannot
    be read.
    """
    named: dict[str, Document] = {}
    for each in live.documents:
        contexts = (one.get("context") for one in values_in(each.raw) if isinstance(one, dict))
        entries = (entry for one in contexts if isinstance(one, list) for entry in one)
        for ref in (object_in(entry, "configMap") for entry in entries):
            if "name" in ref and "{{" not in str(ref):
                path = f"{ref.get('namespace', 'default')}/configmaps/{ref['name']}"
                named.setdefault(path, each)
    for path, policy in named.items():
        label = f"the ConfigMap {path.replace('/configmaps', '')}, which {policy.label} names"
        try:
            reader.get(f"/api/v1/namespaces/{path}")
        except ApiReadError as error:
            missing = error.status == HTTPStatus.NOT_FOUND
            hint = "create it before the policy is enforced"
            problem = Problem(f"the cluster does not have {label}", hint=hint)
            yield problem if missing else unread(f"get {label}", error, "get configmaps")


def _read(
    reader: ApiReader,
    resource: Served,
    namespace: str,
    found: LivePolicies,
    advance: ReadProgress,
) -> None:
    where = f" in {namespace}" if namespace else ""
    try:
        for page in pages_of(reader, resource, namespace):
            found.documents += (_document(item, resource) for item in page.items)
            done = len(found.documents)
            advance(f"reading {resource.label}", done, done + page.remaining)
            if done > MOST_OBJECTS:
                text = f"the cluster has more than {MOST_OBJECTS} policies and exceptions"
                raise ConfigError(f"{text}\n  hint: import them by namespace (-n)")
    except ApiReadError as error:
        found.incomplete.add(resource.kind)
        what = f"list {resource.label}"
        found.unread.append(unread(f"{what}{where}", error, what))


def _document(item: JSONObject, resource: Served) -> Document:
    """Return the document of an object. Its file is its name in kubectl."""
    document = document_of(item, resource)
    nowhere = Origin(Chunk("", "", NO_TEXT))
    return replace(document, file=f"{resource.label}/{document.name}", origin=nowhere)


def _belonging(documents: Sequence[Document]) -> list[Document]:
    """Return all policies, and the exceptions that belong to one of them."""
    policies = [each for each in documents if is_policy(each)]
    merged = {id(one) for each in policies for one in merged_into(each, documents)}
    return [
        each for each in documents if id(each) in merged or not is_exception(each.group, each.kind)
    ]


def _definitions(resources: Iterable[Served]) -> Iterator[Document]:
    """Yield a definition for each custom kind, in which converters look up its resource."""
    kinds: dict[tuple[str, str], list[Served]] = {}
    for each in resources:
        if each.group not in BUILT_IN_GROUPS:
            kinds.setdefault((each.group, each.resource), []).append(each)
    for (group, resource), versions in kinds.items():
        spec = {
            "group": group,
            "names": {"kind": versions[0].kind, "plural": resource},
            "scope": "Namespaced" if versions[0].namespaced else "Cluster",
            "versions": [{"name": each.version, "served": True} for each in versions],
        }
        name = f"{resource}.{group}"
        raw: JSONObject = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}}
        yield Document(KIND, API_VERSION, name, "", "", 0, {**raw, "spec": spec})
