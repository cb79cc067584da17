"""Checks of the reads of a Policy: names, kinds that may be read, bounds."""

import math
from collections.abc import Iterator

from policyd.json_types import FieldPath
from policyd.policy.checks.match import check_selector, duplicates, invalid, required
from policyd.policy.model import names
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.reads import ANY, SAME, PolicyRead

MAX_READS = 16
MAX_STALENESS = 86_400  # seconds
# Kinds that hold credentials, and groups of tokens and of answers about access.
_SECRET_KINDS = frozenset((("", "Secret"),))
_SECRET_GROUPS = frozenset(("authentication.k8s.io", "authorization.k8s.io"))
_PATH: FieldPath = ("spec", "reads")


def check_reads(reads: tuple[PolicyRead, ...]) -> Iterator[FormProblem]:
    """Check the reads of a policy."""
    if len(reads) > MAX_READS:
        yield FormProblem(_PATH, f"Too many: {len(reads)}: must have at most {MAX_READS} items")
    yield from duplicates(_PATH, (read.name for read in reads), "name")
    for index, read in enumerate(reads):
        yield from _check_read(read, (*_PATH, index))


def is_secret(group: str, kind: str) -> bool:
    """Whether objects of a kind hold credentials or answers about access."""
    return (group, kind) in _SECRET_KINDS or group in _SECRET_GROUPS


def _check_read(read: PolicyRead, path: FieldPath) -> Iterator[FormProblem]:
    if not read.name:
        yield required((*path, "name"), "expressions use it as reads.NAME")
    elif not names.is_cel_identifier(read.name):
        wrong = "must be a name of CEL: letters, digits and _, not a word of its grammar"
        yield from invalid((*path, "name"), read.name, [wrong])
    yield from _check_kind(read, path)
    if read.namespace not in (SAME, ANY):
        wrongs = names.dns_subdomain(read.namespace)
        hint = "write same, any, or the name of a namespace"
        yield from invalid((*path, "namespace"), read.namespace, wrongs, hint)
    if read.label_selector is not None:
        yield from check_selector(read.label_selector, (*path, "labelSelector"))
    seconds = read.max_staleness_seconds
    if seconds is not None and not (math.isfinite(seconds) and 0 < seconds <= MAX_STALENESS):
        wrong = f"must be more than 0 and at most {MAX_STALENESS} seconds"
        yield from invalid((*path, "maxStalenessSeconds"), seconds, [wrong])


def _check_kind(read: PolicyRead, path: FieldPath) -> Iterator[FormProblem]:
    for field, value in (("apiVersion", read.api_version), ("kind", read.kind)):
        if not value:
            example = "write apiVersion: networking.k8s.io/v1 and kind: Ingress, for example"
            yield required((*path, field), hint=example)
    group, _, version = read.api_version.rpartition("/")
    grouped = not group or not any(names.dns_subdomain(group))
    if read.api_version and not (
        grouped and not any(names.dns_1035_label(version)) and not read.api_version.startswith("/")
    ):
        wrong = "must be VERSION, or GROUP/VERSION such as networking.k8s.io/v1"
        yield from invalid((*path, "apiVersion"), read.api_version, [wrong])
    if read.kind:
        wrongs = names.dns_1035_label(read.kind.lower())
        yield from invalid((*path, "kind"), read.kind, wrongs)
    if is_secret(group, read.kind):
        yield FormProblem(
            (*path, "kind"),
            f"Forbidden: objects of kind {read.kind} cannot be read",
            "they hold credentials or answers about access; read an object that refers to them",
        )
