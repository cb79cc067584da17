"""Read the policies of other engines in a cluster, with what belongs to them. Converts nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd.cluster.listing import (
    ApiReader,
    ApiReadError,
    document_of,
    list_path,
    pages,
    served,
    unread_text,
)
from policyd.errors import ConfigError
from policyd.importers.all import is_exception, is_policy, is_read_live, merged_into
from policyd.importers.model import Imported, ImportRemark
from policyd.json_types import JSONObject, object_in
from policyd.policy.kinds.definitions import API_VERSION, KIND
from policyd.policy.kinds.served_resource import Served
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import NO_TEXT, Chunk, Origin

MOST_OBJECTS = 10_000  # policies, exceptions and what belongs to them, in memory at once
ReadProgress = Callable[[str, int, int], None]


@dataclass(slots=True)
class LivePolicies:
    """What was read. ``documents`` are policies, exceptions and, without their schemas, definitions
    of all custom kinds that the cluster serves; ``unread`` what could not be read, with the reason;
    ``incomplete`` the kinds that could not be listed to the end.
    """

    documents: list[Document] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    incomplete: set[str] = field(default_factory=set)


def read_policies(
    reader: ApiReader, namespaces: Sequence[str], advance: ReadProgress
) -> LivePolicies:
    """Return the policies of a cluster; with ``namespaces`` only those in them, with the exceptions
    of any namespace. Raises ConfigError if the cluster cannot be queried, or has too many.
    """
    found = LivePolicies()
    try:
        resources = list(served(reader, lambda group: True, found.unread.append))
    except ApiReadError as error:
        raise ConfigError(f"cannot discover the cluster's resources: {error}") from None
    for resource in _once(resources):
        wanted = is_read_live(resource.group, resource.kind)
        if wanted and (resource.namespaced or not namespaces):
            everywhere = not namespaces or is_exception(resource.group, resource.kind)
            for namespace in [""] if everywhere else dict.fromkeys(namespaces):
                _read(reader, resource, namespace, found, advance)
    if namespaces:
        found.documents = _belonging(found.documents)
    found.documents += _definitions(resources)
    return found


def with_config_maps(
    reader: ApiReader, imports: Iterable[Imported], unread: list[str]
) -> Iterator[Imported]:
    """Yield imports, with a remark for each ConfigMap that they name and the cluster has not."""
    missing: dict[tuple[str, str], bool] = {}
    for one in imports:
        remarks = list(one.remarks)
        for namespace, name in sorted({*_config_maps(one)}):
            if (namespace, name) not in missing:
                missing[namespace, name] = _is_missing(reader, namespace, name, unread)
            if missing[namespace, name]:
                text = f"the cluster has no ConfigMap {namespace}/{name}: create it first"
                remarks.append(ImportRemark("", text))
        yield replace(one, remarks=tuple(remarks))


def _config_maps(one: Imported) -> Iterator[tuple[str, str]]:
    for each in one.documents:
        ref = object_in(each.raw, "spec", "paramRef")
        of_kind = object_in(each.raw, "spec", "paramKind").get("kind")
        if of_kind == "ConfigMap" and ref.get("name"):
            yield str(ref.get("namespace")), str(ref["name"])


def _is_missing(reader: ApiReader, namespace: str, name: str, unread: list[str]) -> bool:
    try:
        reader.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    except ApiReadError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return True
        unread.append(unread_text(f"get the ConfigMap {namespace}/{name}", error, "get configmaps"))
    return False


def _once(resources: Iterable[Served]) -> Iterator[Served]:
    """Yield each resource in the first of its versions, the preferred one."""
    first: dict[tuple[str, str], Served] = {}
    for each in resources:
        if first.setdefault((each.group, each.resource), each) is each:
            yield each


def _read(
    reader: ApiReader,
    resource: Served,
    namespace: str,
    found: LivePolicies,
    advance: ReadProgress,
) -> None:
    where = f" in {namespace}" if namespace else ""
    try:
        for page in pages(reader, list_path(resource, namespace)):
            found.documents += (_document(item, resource) for item in page.items)
            done = len(found.documents)
            advance(f"reading {resource.label}", done, done + page.remaining)
            if done > MOST_OBJECTS:
                text = f"the cluster has more than {MOST_OBJECTS} policies and exceptions"
                raise ConfigError(f"{text}\n  hint: import them by namespace (-n)")
    except ApiReadError as error:
        found.incomplete.add(resource.kind)
        text = unread_text(f"list {resource.label}{where}", error, f"list {resource.label}")
        found.unread.append(text)


def _document(item: JSONObject, resource: Served) -> Document:
    """Return the document of an object. Its file is the name by which kubectl gets it."""
    document = document_of(item, resource)
    nowhere = Origin(Chunk("", "", NO_TEXT))
    return replace(document, file=f"{resource.label}/{document.name}", origin=nowhere)


def _belonging(documents: Sequence[Document]) -> list[Document]:
    """Return policies, and of the exceptions only those from one of them."""
    policies = [each for each in documents if is_policy(each)]
    merged = {id(one) for each in policies for one in merged_into(each, documents)}
    return [
        each for each in documents if id(each) in merged or not is_exception(each.group, each.kind)
    ]


def _definitions(resources: Iterable[Served]) -> Iterator[Document]:
    """Yield a definition for each custom kind: converters look up the resources of kinds in it."""
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
