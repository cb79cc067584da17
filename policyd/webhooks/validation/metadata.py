"""Checks the metadata of a cluster-scoped object, like apimachinery's ``ValidateObjectMeta``."""

from collections.abc import Iterator

from policyd._core.match.labels import (
    domain_errors,
    key_errors,
    value_errors,
)
from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion
from policyd.webhooks.changes import BARE_REQUIRED, DECLARATIVE_METADATA
from policyd.webhooks.validation.field_problems import FieldProblem, invalid, required, too_long

_EMPTY = "must not be empty"
_SEGMENTS = 3


def qualified_name(field: str, name: str) -> Iterator[FieldProblem]:
    """Check the name of a webhook: a domain of three segments or more."""
    if not name:
        yield required(field)
    elif errors := domain_errors(name):
        yield from invalid(field, name, [",".join(errors)])
    elif name.count(".") < _SEGMENTS - 1:
        detail = "should be a domain with at least three segments separated by dots"
        yield from invalid(field, name, [detail])


MAX_ANNOTATIONS_BYTES = 256 * 1024
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


def check_metadata(meta: JSONObject, version: KubernetesVersion) -> Iterator[FieldProblem]:
    """Check names, labels, annotations, owners and finalizers."""
    prefix, name = meta.get("generateName", ""), meta.get("name", "")
    if prefix:
        yield from invalid("metadata.generateName", prefix, domain_errors(_masked(prefix)))
    if name:
        yield from invalid("metadata.name", name, domain_errors(name))
    elif not prefix:
        yield required("metadata.name", "name or generateName is required")
    yield from check_labels("metadata.labels", meta.get("labels", {}))
    yield from _check_annotations(meta.get("annotations", {}))
    owners: list[JSONObject] = []
    for owner in meta.get("ownerReferences", []):
        if owner not in owners:  # the API server keeps one of several
            owners.append(owner)
    yield from _check_owners(owners, version)
    yield from _check_finalizers(meta.get("finalizers", []))


def check_labels(field: str, labels: dict[str, str]) -> Iterator[FieldProblem]:
    """Check keys and values of labels, also of a selector's matchLabels."""
    for key, value in labels.items():
        yield from invalid(field, key, key_errors(key))
        yield from invalid(field, value, value_errors(value))


def _masked(prefix: str) -> str:
    """Return a prefix that may end with a dash, with a letter in its place."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _check_annotations(annotations: dict[str, str]) -> Iterator[FieldProblem]:
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + len(value.encode())
        yield from invalid("metadata.annotations", key, key_errors(key.lower()))
    if size > MAX_ANNOTATIONS_BYTES:
        yield too_long("metadata.annotations", MAX_ANNOTATIONS_BYTES)


def _check_owners(owners: list[JSONObject], version: KubernetesVersion) -> Iterator[FieldProblem]:
    path = "metadata.ownerReferences"
    controller = ""
    newest = version.has(DECLARATIVE_METADATA)
    for index, owner in enumerate(owners):
        at = f"{path}[{index}]" if newest else path
        yield from _check_owner(owner, at, newest, "" if version.has(BARE_REQUIRED) else _EMPTY)
        if owner.get("controller"):
            named = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                yield from invalid(
                    path,
                    owners,
                    [
                        "Only one reference can have Controller set to true. Found "
                        f'"true" in references for {controller} and {named}'
                    ],
                )
            else:
                controller = named


def _check_owner(owner: JSONObject, path: str, newest: bool, detail: str) -> Iterator[FieldProblem]:
    version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
    readable = version.count("/") < 2 and bool(version.rpartition("/")[2])
    if newest and not version:
        yield required(f"{path}.apiVersion", detail)
    elif not readable:
        wrong = "must be <group>/<version> or <version>" if newest else "version must not be empty"
        yield from invalid(f"{path}.apiVersion", version, [wrong])
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            at = f"{path}.{field}"
            if newest:
                yield required(at, detail)
            else:
                yield from invalid(at, "", [_EMPTY])
    if (version, kind) == ("v1", "Event"):
        wrong = "/v1, Kind=Event is disallowed from being an owner"
        yield from invalid(path, owner, [wrong])


def _check_finalizers(finalizers: list[str]) -> Iterator[FieldProblem]:
    path = "metadata.finalizers"
    for each in finalizers:
        yield from invalid(path, each, key_errors(each))
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        wrong = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield from invalid(path, finalizers, [wrong])
