"""Read the manifests that a command checks, and build their requests. Evaluates no policy."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from policyd.cli.shared.output import echo_warning, shortest, warn
from policyd.errors import ConfigError, PolicySchemaError, Problem
from policyd.json_types import JSONObject
from policyd.policy.kinds.definitions import KIND as DEFINITION
from policyd.policy.kinds.definitions import definitions_among, is_definition, problems_among
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.model.kinds import POLICYD_GROUP
from policyd.policy.source.files import SourceFile, read
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.splitting import NOT_AN_OBJECT, split
from policyd.policy.source.tree import shown
from policyd.policy.suite.reviews import (
    DEFAULT_GROUPS,
    DEFAULT_NAMESPACE,
    DEFAULT_USER,
    ResourceNeeded,
    assumption,
    build_review,
    in_namespace,
    resource_of,
)

Identity = tuple[str, str, str, str]
OldObject = Callable[[Document], JSONObject | None]  # the old version of a manifest
_RESOURCE_HINT = "name the resource, as in --resource apps/v1/deployments"
_MOST_MISFITS = 10  # printed one by one: there may be one in every manifest
_UNUSED = "this CustomResourceDefinition is not used: "
# Kinds and groups of documents that programs on the author's machine read, and what to do instead.
_KUSTOMIZE_HINT = "check what it makes: kustomize build DIR | policyd apply -p POLICIES -"
_READ_BY: Mapping[str, str] = {
    "kustomize.config.k8s.io": _KUSTOMIZE_HINT,
    "PolicyTest": "run it: policyd test FILE",
    POLICYD_GROUP: "policies are given with -p",
}
_NO_MANIFESTS_HINT = (
    "there is nothing but blanks or comments: see what made it; --skip-no-objects skips such files"
)
# With escapes and tags YAML can hide the name of a kind.
_HIDING = (b"\\", b"!")
_TEMPLATE_HINT = "policyd reads no templates: render the chart first, with helm template"


@dataclass(frozen=True, slots=True)
class Requester:
    """The user, operation, resource and namespace of requests built from manifests.

    ``operation`` None: CREATE, or UPDATE if there is an old object. ``user`` None and no groups:
    those that every request without them has. ``namespace``: of objects that name none; None:
    default. ``resource`` None: it follows from the kind of each object.
    """

    operation: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()
    namespace: str | None = None
    resource: str | None = None

    @property
    def user_info(self) -> JSONObject:
        """The ``userInfo`` of the requests."""
        groups = list(self.groups or DEFAULT_GROUPS)
        return {"username": self.user or DEFAULT_USER, "groups": groups}

    def review(
        self, document: Document, old: JSONObject | None, mapper: ResourceMapper
    ) -> JSONObject:
        """Build the AdmissionReview that the API server would send for a manifest. Raises
        PolicySchemaError if its resource has to be given.
        """
        overrides = {"userInfo": self.user_info, "resource": self.resource_of(document, mapper)}
        try:
            review = build_review(
                document.raw,
                old_object=old,
                operation=self.operation,
                overrides=overrides,
                mapper=mapper,
                default_namespace=self.namespace or DEFAULT_NAMESPACE,
            )
        except ResourceNeeded as error:
            line, column = document.place("kind")
            problem = Problem(str(error), document.file, line, column, hint=_RESOURCE_HINT)
            raise PolicySchemaError([problem]) from None
        return in_namespace(review)

    def resource_of(self, document: Document, mapper: ResourceMapper) -> JSONObject | None:
        """Return the resource that is given for an object; None: it is derived. Namespaces and
        CustomResourceDefinitions, which only describe the cluster, keep theirs.
        """
        if self.resource is None or _describes_cluster(document):
            return None
        try:
            return resource_of(self.resource, document.api_version, document.kind, mapper)
        except ValueError as error:
            raise ConfigError(f"--resource: {error}") from None

    def require_one_kind(self, documents: Iterable[Document]) -> None:
        """Raise ConfigError if a resource is given and these objects are of several kinds."""
        if self.resource is None:
            return
        kinds = {each.kind: each for each in documents if not _describes_cluster(each)}
        if len(kinds) > 1:
            raise ConfigError(
                f"--resource is the resource of one kind, but there are {', '.join(kinds)}"
            )

    def identity(self, document: Document) -> Identity:
        """Return group, kind, namespace and name, which identify an object."""
        namespace = document.namespace or self.namespace or DEFAULT_NAMESPACE
        return (document.group, document.kind, namespace, document.name)


@dataclass(slots=True)
class Manifests:
    """The objects of ``files``, of which the ``named`` ones must have some.

    The other fields are filled while files are read. ``skipped``: what is not a Kubernetes object,
    as in values of Helm charts. ``problems``: what could not be read. ``skipped_files`` have no
    object at all.
    """

    files: Sequence[SourceFile] = ()
    named: frozenset[str] = frozenset()
    documents: list[Document] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped_files: int = 0
    skipped_documents: int = 0

    def required(self) -> "Manifests":
        """Return the same; raises PolicySchemaError with every problem if there are any."""
        if self.problems:
            raise PolicySchemaError(self.problems)
        return self

    def each(self) -> Iterator[Document]:
        """Read the files and yield their objects. ``documents`` are the last file's."""
        for file in self.files:
            self.documents = []
            self.add(file)
            yield from self.documents

    def describing(self, kinds: Collection[str]) -> list[Document]:
        """Return the Namespaces, CustomResourceDefinitions and objects of these kinds."""
        signs = (*_HIDING, *(each.encode() for each in ("Namespace", DEFINITION, *kinds)))
        files = (file for file in self.files if any(each in file.data for each in signs))
        read = (split(file.name, file.data)[0] for file in files)
        found = (each for documents in read for each in _sent(documents))
        return [each for each in found if _describes_cluster(each) or each.kind in kinds]

    def add(self, file: SourceFile) -> None:
        """Add the objects of a file, including the items of Lists."""
        whole, wrong = split(file.name, file.data)
        found = _sent(whole)
        self.documents += found
        foreign = [problem for problem in wrong if problem.rule == NOT_AN_OBJECT]
        foreign += [_read_elsewhere(each) for each in whole if each.group in _READ_BY]
        broken = [problem for problem in wrong if problem.rule != NOT_AN_OBJECT]
        is_template = b"{{" in file.data
        self.problems += [
            replace(problem, hint=_TEMPLATE_HINT) if is_template else problem for problem in broken
        ]
        if found:
            self.skipped += foreign
            self.skipped_documents += len(foreign)
        elif file.name in self.named:
            self.problems += foreign
        elif not broken and foreign:
            self.skipped += foreign[:1]
            self.skipped_files += 1


def read_manifests(
    paths: Sequence[Path], excluded: Sequence[str] = (), *, skips: bool = False
) -> Manifests:
    """Read every object in the files of ``find_manifests``."""
    manifests = find_manifests(paths, excluded, skips=skips)
    manifests.documents = list(manifests.each())
    return manifests


def find_manifests(
    paths: Sequence[Path],
    excluded: Sequence[str] = (),
    *,
    skips: bool = False,
    chosen: Callable[[str], bool] = lambda name: True,
) -> Manifests:
    """Return the files and directories that are ``chosen`` by name, except files that a glob
    excludes.

    ``skips``: named files without an object are skipped, as files in directories are.
    """
    files, problems = read(
        paths, excluded=lambda name: is_excluded(name, excluded) or not chosen(name)
    )
    named = () if skips else (shown(str(path)) for path in paths if not path.is_dir())
    return Manifests(files, frozenset(named), problems=problems)


def no_manifests_hint(manifests: Manifests, paths: Iterable[Path]) -> str:
    """Return the remedy if there is no object in these paths, by what there is instead."""
    skipped = [Path(each.file) for each in manifests.skipped]
    for file in skipped:
        if file.stem == "kustomization":
            return _KUSTOMIZE_HINT.replace("DIR", str(file.parent))
    if skipped:
        return "give files of Kubernetes objects; run what makes them first, such as helm template"
    if any(path.is_dir() for path in paths):
        return "of directories only *.yaml, *.yml and *.json files are read, and none has an object"
    return _NO_MANIFESTS_HINT


def definitions_of(documents: Iterable[Document]) -> list[JSONObject]:
    """Return the CustomResourceDefinitions among manifests, with a warning on standard error for
    each that cannot be used.
    """
    documents = list(documents)
    echo_unused_definitions(documents)
    return definitions_among(each.raw for each in documents)


def echo_unused_definitions(documents: Iterable[Document]) -> None:
    """Print a warning on standard error for each CustomResourceDefinition that cannot be used."""
    for problem in problems_among(documents):
        echo_warning(replace(problem, message=_UNUSED + problem.message))


def echo_assumptions(
    documents: Iterable[Document], requester: Requester, mapper: ResourceMapper
) -> None:
    """Print a remark on standard error for each kind of manifests whose resource is assumed."""
    seen: set[tuple[str, str]] = set()
    for document in documents:
        kind = (document.api_version, document.kind)
        if kind in seen or document.is_policy:
            continue
        seen.add(kind)
        found = assumption(*kind, requester.resource_of(document, mapper), mapper)
        if found is not None:
            line, column = document.place("kind")
            echo_warning(Problem(found.text, document.file, line, column, hint=found.hint))


def echo_misfits(found: Sequence[Problem]) -> None:
    """Print warnings for the fields and values that the kinds of manifests do not have."""
    for problem in found[:_MOST_MISFITS]:
        echo_warning(problem)
    if len(found) > _MOST_MISFITS:
        warn(f"{len(found) - _MOST_MISFITS} more fields and values do not fit their kinds")


def place_of(document: Document, path: str = "") -> str:
    """Return ``FILE:LINE``, which terminals and editors open, of a document or a field of it; only
    its file if it has no lines, as an object of a cluster.
    """
    line = document.place(path)[0]
    return f"{shortest(document.file)}:{line}" if line else shortest(document.file)


def _sent(documents: Iterable[Document]) -> list[Document]:
    """Return those that are sent to the API server."""
    return [each for each in documents if each.group not in _READ_BY]


def is_namespace(document: Document) -> bool:
    """Whether the object is a Namespace, whose labels and fields policies can see."""
    return document.kind == "Namespace" and not document.group


def _describes_cluster(document: Document) -> bool:
    return is_namespace(document) or is_definition(document.raw)


def is_excluded(name: str, globs: Iterable[str]) -> bool:
    """Whether a glob matches the path of a file or of a directory above it, or the end of one."""
    path = "/" + name.removeprefix("./").lstrip("/")
    for glob in globs:
        pattern = "*/" + glob.removeprefix("./").strip("/")
        if fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*"):
            return True
    return False


def old_objects(
    documents: Sequence[Document], old: Sequence[Document], requester: Requester
) -> OldObject:
    """Return what finds the old object with the identity of a manifest. The only manifest may have
    another name than the only old object.
    """
    by_identity = {requester.identity(each): each.raw for each in old}
    only = old[0] if len(documents) == len(old) == 1 else None

    def old_object(document: Document) -> JSONObject | None:
        found = by_identity.get(requester.identity(document))
        if found is None and only is not None and only.kind == document.kind:
            return only.raw
        return found

    return old_object


def _read_elsewhere(document: Document) -> Problem:
    line, column = document.place("kind")
    message = f"a {document.kind} is not sent to the API server"
    hint = _READ_BY.get(document.kind, _READ_BY[document.group])
    hint = hint.replace("FILE", shown(document.file))
    return Problem(message, document.file, line, column, hint=hint, rule=NOT_AN_OBJECT)
