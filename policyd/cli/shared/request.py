"""The requests that a command evaluates: an AdmissionReview, or reviews built from manifests and
options.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click

from policyd.bounded_text import few
from policyd.cli.shared.manifests import (
    Manifests,
    Requester,
    definitions_of,
    echo_assumptions,
    echo_misfits,
    is_namespace,
    old_objects,
    read_manifests,
)
from policyd.cli.shared.namespaces import (
    NamespaceOptions,
    namespace_label_options,
    namespace_options,
)
from policyd.cli.shared.output import echo_skipped, within
from policyd.cli.shared.policy_options import documents
from policyd.cli.shared.settings import GROUP_NAME, USER_NAME, grouped, option
from policyd.defaulting.placing import placed
from policyd.errors import ConfigError, PolicySchemaError, ReviewError, file_errors
from policyd.json_types import JSONObject, object_in
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.compile.params import Namespaces
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.kinds.misfits import misfits
from policyd.policy.model.match import OPERATIONS
from policyd.policy.source.files import SourceFile, is_packed, is_source, read_bytes
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.loader import read_one
from policyd.policy.source.splitting import split

_EXPECTED = "expected Kind/name or Kind/namespace/name"
_SHOWN = 10  # objects named in a message; the others are counted


class Selection(NamedTuple):
    """The kind, in any case, and name of an object; ``namespace`` empty: of any namespace. An empty
    kind, which is an error, selects none: the error lists the objects.
    """

    kind: str
    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Selection":
        """Return the selection ``Kind/name`` or ``Kind/namespace/name``; raises BadParameter."""
        parts = text.split("/")
        if len(parts) > 3 or not all(parts):
            raise click.BadParameter(f"{_EXPECTED}, got {text!r}")
        kind = parts[0] if len(parts) > 1 else ""
        return cls(kind, parts[1] if len(parts) == 3 else "", parts[-1])

    def of(self, documents: Sequence[Document], requester: Requester, file: str) -> list[Document]:
        """Return the objects that are selected. Raises ConfigError if there are none."""
        found = [each for each in documents if self._selects(each, requester)]
        if not found:
            wrong = f"no such object in {file}" if self.kind else _EXPECTED
            raise ConfigError(f"--select {self}: {wrong}; there are: {selectors(documents)}")
        return found

    def _selects(self, document: Document, requester: Requester) -> bool:
        namespace = requester.identity(document)[2]
        return (
            document.kind.casefold() == self.kind.casefold()
            and object_name(document) == self.name
            and self.namespace in ("", namespace)
        )

    def __str__(self) -> str:
        return "/".join(filter(None, self))


def selectors(documents: Sequence[Document]) -> str:
    """Return the values of ``--select`` for several objects, for a message."""
    return few([selector(each) for each in documents], _SHOWN)


def selector(document: Document) -> str:
    """Return the value of ``--select`` for an object."""
    return "/".join(filter(None, (document.kind, document.namespace, object_name(document))))


def object_name(document: Document) -> str:
    """Return the name of an object, or the prefix that a name will be generated from."""
    generated = object_in(document.raw, "metadata").get("generateName")
    return document.name or (generated if isinstance(generated, str) else "")


def _offered(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the objects of FILE for a shell that completes ``--select``."""
    # click has left FILE among the other words, or opened it for --select=VALUE.
    file = context.args[0] if context.args else str(getattr(context.params.get("file"), "name", ""))
    named = [file] if Path(file).is_file() else []
    return [text for text in map(selector, documents(named)) if text.startswith(incomplete)]


SELECT = option(
    "--select KIND/[NAMESPACE/]NAME",
    "Choose one of several objects in the file, as in Service/shop/web.",
    read=Selection.parse,
    shell_complete=_offered,
)


class GivenReview(NamedTuple):
    """A review, and the document from which it was read or built; None if it was read as bytes."""

    review: JSONObject
    document: Document | None

    @property
    def namespace(self) -> str:
        """The namespace of the request; empty if it has none."""
        request = self.review.get("request")
        name = request.get("namespace") if isinstance(request, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def place(self) -> JSONObject:
        """The mark of one of several objects in JSON; a review has its uid."""
        document = self.document
        if document is None:
            return {}
        return {"file": document.file, "line": document.place()[0], "object": document.label}

    @property
    def is_built(self) -> bool:
        """Whether it was built from a manifest, which lacks the API server's defaults."""
        return self.document is not None and not _is_review(self.document)


class GivenReviews(NamedTuple):
    """The reviews of a file, and the Namespaces and CustomResourceDefinitions in it. ``objects``
    are those that the reads of policies find: all of the file, and of ``--reads``.
    """

    reviews: list[GivenReview]
    namespaces: list[JSONObject]
    definitions: list[JSONObject]
    objects: list[JSONObject]


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The values of ``request_options``."""

    select: Selection | None
    old: tuple[Path, ...]
    requester: Requester
    namespaces: NamespaceOptions
    defaults: bool
    reads: tuple[Path, ...] = ()

    @property
    def for_manifests(self) -> bool:
        """Whether there is an option that an AdmissionReview cannot have."""
        given = self.old or self.select or not self.defaults
        return bool(given) or self.requester != Requester()

    def read(self, file: SourceFile, mapper: ResourceMapper) -> GivenReviews:
        """Read the AdmissionReviews in the file, and build one from each manifest in it that is
        selected. A document that is not a Kubernetes object is skipped with a warning. ``mapper``
        knows the kinds of the policies.
        """
        name = file.name
        manifests = Manifests([file], frozenset((name,)))
        manifests.add(file)
        echo_skipped(manifests.required().skipped)
        documents = manifests.documents
        if not documents:
            raise ConfigError(f"no manifests {within([name])}")
        if self.for_manifests and any(map(_is_review, documents)):
            raise click.UsageError(
                f"{FOR_MANIFESTS} apply to manifests only: {name} contains an AdmissionReview, "
                "which has them"
            )
        old = old_objects(documents, read_manifests(self.old).required().documents, self.requester)
        namespaces = [each.raw for each in documents if is_namespace(each)]
        definitions = definitions_of(documents)
        mapper = mapper.with_definitions(definitions)
        if self.select is not None:
            documents = self.select.of(documents, self.requester, name)
        built = [each for each in documents if not _is_review(each)]
        self.requester.require_one_kind(built)
        echo_assumptions(built, self.requester, mapper)
        reviews = [
            each.raw if _is_review(each) else self.requester.review(each, old(each), mapper)
            for each in documents
        ]
        objects = self.others() + self._placed(manifests.documents)
        given = list(map(GivenReview, reviews, documents))
        return GivenReviews(given, namespaces, definitions, objects)

    def others(self) -> list[JSONObject]:
        """Read the objects of ``--reads``."""
        return self._placed(read_manifests(self.reads).required().documents)

    def _placed(self, documents: Sequence[Document]) -> list[JSONObject]:
        """Return the objects with the namespaces that they are created in, if they have any."""
        return [placed(each.raw, self.requester.identity(each)[2]) for each in documents]

    def read_one(self, file: SourceFile, mapper: ResourceMapper) -> GivenReviews:
        """Do the same for a command that evaluates one request."""
        found = self.read(file, mapper)
        if len(found.reviews) > 1:
            named = selectors([each.document for each in found.reviews if each.document])
            raise ConfigError(
                f"{file.name} contains {len(found.reviews)} objects; choose one with --select: "
                f"{named}"
            )
        return found

    def namespace(
        self, given: GivenReview, known: Namespaces, *, several: bool = False
    ) -> JSONObject | None:
        """Build the request's Namespace with the labels and annotations given; None if there are
        none. ``known``: what is known of it otherwise.

        ``several``: there are more requests, so this one need not have a namespace.
        """
        flag = self.namespaces.flag
        if flag and not given.namespace and not several:
            raise click.UsageError(f"{flag}: the request has no namespace")
        return self.namespaces.of(given.namespace, known)


def echo_unfit(given: Iterable[GivenReview], schemas: Schemas) -> None:
    """Print warnings for manifests that do not fit their kinds."""
    built = [each.document for each in given if each.document is not None and each.is_built]
    echo_misfits([each.problem(wrong) for each in built for wrong in misfits(each.raw, schemas)])


def _is_review(document: Document) -> bool:
    return document.kind == "AdmissionReview"


FOR_MANIFESTS = (
    "--select, --operation, --old, --resource, --user, --group, --namespace and --no-defaults"
)
OPERATION = option(
    "--operation",
    "Set the operation of the request.  [default: CREATE, or UPDATE with --old]",
    type=click.Choice(OPERATIONS, case_sensitive=False),
    metavar=f"[{'|'.join(OPERATIONS)}]",
)
OLD = option(
    "--old PATH...",
    "Read old versions of the manifests from this file or directory; objects found there are "
    "checked as UPDATEs. May be repeated.",
)
USER = option("--user NAME", "Set the user of the request.  [default: policyd]", type=USER_NAME)
GROUP = option(
    "--group NAME...",
    "Add a group of the user; may be repeated.  [default: system:authenticated]",
    to="groups",
    type=GROUP_NAME,
)


def _resource(value: str) -> str:
    """Refuse a file: other tools take manifests by an option of this name."""
    if is_source(Path(value).name) or value.endswith("/"):
        raise click.BadParameter(f"{value} is a path, not a resource such as apps/v1/deployments")
    return value


RESOURCE = option(
    "--resource RESOURCE",
    "Set the resource of the request where it does not follow from the kind of the manifests, "
    "as apps/v1/deployments for a Scale: RESOURCE, VERSION/RESOURCE or GROUP/VERSION/RESOURCE.",
    read=_resource,
)
NAMESPACE = option(
    "-n, --namespace NAME",
    "Set the namespace of objects that name none.  [default: default]",
)
READS = option(
    "--reads PATH...",
    "Read other objects of the cluster from this file or directory, for policies with reads. "
    "May be repeated.",
)
DEFAULTS = option(
    "--no-defaults",
    "Evaluate manifests as they are, without the defaults that the API server adds before "
    "admission.",
    to="defaults",
    flag_value=False,
    default=True,
    show_default=False,
)
requester_group = grouped("requester", Requester)
_OPTIONS = (requester_group, SELECT, OPERATION, OLD, USER, GROUP, NAMESPACE, RESOURCE)
request_options = grouped(
    "request", RequestOptions, (*_OPTIONS, namespace_options, READS, DEFAULTS)
)
# No part of a webhook configuration reads annotations of a namespace, or other objects.
webhook_request_options = grouped(
    "request", RequestOptions, (*_OPTIONS, namespace_label_options, DEFAULTS)
)


def name_of(file: BinaryIO) -> str:
    """Return the name of an input file for messages."""
    name = str(getattr(file, "name", "-"))
    return "-" if name == "<stdin>" else name


def read_source(file: BinaryIO) -> SourceFile:
    """Return a whole input file. Raises ConfigError."""
    name = name_of(file)
    return SourceFile(name, name, content(file))


def holds_manifests(file: SourceFile) -> bool:
    """Whether a file holds Kubernetes objects, none of which is an AdmissionReview."""
    documents, problems = split(file.name, file.data)
    return bool(documents) and not problems and not any(map(_is_review, documents))


def content(file: BinaryIO) -> bytes:
    """Read a whole file, decompressed if its name ends in ``.gz``. Raises ConfigError."""
    name = name_of(file)
    with file_errors(name):
        return read_bytes(name) if is_packed(name) else file.read()


def read_object(body: bytes, name: str) -> JSONObject:
    """Decode the one JSON or YAML object of a file. Raises ReviewError for anything else."""
    try:
        document = read_one(body, name)
    except PolicySchemaError as error:
        raise ReviewError(f"neither JSON nor YAML: {error}") from None
    if document is None:
        raise ReviewError(f"no object {within([name])}")
    if not isinstance(document, dict):
        raise ReviewError(f"{name}: expected one object, got {json.dumps(document)[:40]}")
    return document
