"""The request that a command evaluates: an AdmissionReview, or one built from a manifest and
options.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO

import click

from policyd.cli.shared.manifests import Requester
from policyd.errors import ConfigError, PolicySchemaError, ReviewError
from policyd.json_types import JSONObject
from policyd.policy.source.loader import read_one
from policyd.policy.suite.reviews import namespace

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """The values of ``request_options``."""

    requester: Requester
    old: Path | None
    namespace_labels: dict[str, str] | None

    def review(self, file: BinaryIO) -> JSONObject:
        """Read the AdmissionReview in the file, or build one from the manifest in it."""
        given = read_object(content(file), name_of(file))
        if given.get("kind") == "AdmissionReview":
            if self.old or self.requester != Requester(None, None, ()):
                raise click.UsageError(
                    "--operation, --old, --user and --group apply to manifests only: "
                    f"{name_of(file)} is an AdmissionReview, which contains them"
                )
            return given
        old = None if self.old is None else read_object(content(self.old), str(self.old))
        return self.requester.review(given, old)

    def namespace(self, review: JSONObject) -> JSONObject | None:
        """Build the request's Namespace with the labels given; None if there are none."""
        if self.namespace_labels is None:
            return None
        request = review.get("request")
        name = request.get("namespace") if isinstance(request, dict) else None
        if not name:
            raise click.UsageError("--namespace-labels: the request has no namespace")
        return namespace(name, self.namespace_labels)


def request_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument ``request`` (RequestOptions) to a command."""

    @wraps(function)
    def command(
        *,
        operation: str | None,
        old: Path | None,
        user: str | None,
        groups: tuple[str, ...],
        namespace_labels: dict[str, str] | None,
        **others: Any,
    ) -> Any:
        given = RequestOptions(Requester(operation, user, groups), old, namespace_labels)
        return function(request=given, **others)

    made: Callable[..., Any] = command
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


OPERATION = click.option(
    "--operation",
    type=click.Choice(OPERATIONS),
    help="Set the operation of the request.  [default: CREATE, or UPDATE with --old]",
)
OLD = click.option(
    "--old",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Use the manifest in this file as oldObject.",
)
USER = click.option(
    "--user", metavar="NAME", help="Set the user of the request.  [default: policyd]"
)
GROUP = click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="Add a group of the user; may be repeated.",
)
NAMESPACE_LABELS = click.option(
    "--namespace-labels",
    metavar="KEY=VALUE,…",
    callback=lambda context, parameter, text: None if text is None else _labels(text),
    help="Set the labels of the request's namespace, for namespaceSelector and namespaceObject.",
)
_OPTIONS = (OPERATION, OLD, USER, GROUP, NAMESPACE_LABELS)


def name_of(file: BinaryIO) -> str:
    """Return the name of an input file for messages."""
    return str(getattr(file, "name", "-"))


def content(file: BinaryIO | Path) -> bytes:
    """Read a whole file. Raises ConfigError if that fails."""
    try:
        return file.read_bytes() if isinstance(file, Path) else file.read()
    except OSError as error:
        name = str(file) if isinstance(file, Path) else name_of(file)
        raise ConfigError(f"{name}: {error.strerror}") from None


def read_object(body: bytes, name: str) -> JSONObject:
    """Decode the one JSON or YAML object of a file. Raises ReviewError for anything else."""
    try:
        document = read_one(body, name)
    except PolicySchemaError as error:
        raise ReviewError(f"neither JSON nor YAML: {error}") from None
    if not isinstance(document, dict):
        raise ReviewError(f"{name}: expected one object, got {json.dumps(document)[:40]}")
    return document


def _labels(text: str) -> dict[str, str]:
    labels = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(
                f"expected KEY=VALUE, got {pair!r}", param_hint="--namespace-labels"
            )
        labels[key.strip()] = value.strip()
    return labels
