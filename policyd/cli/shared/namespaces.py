"""What the options of a command say of the namespaces of requests, and the remark about what they
do not say.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import click

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.cli.shared.output import styled, warn
from policyd.cli.shared.settings import grouped, option
from policyd.json_types import JSONObject
from policyd.offline.unknown_namespaces import PARTS, NamespacePart, UnknownNamespaces
from policyd.policy.compile.params import Namespaces
from policyd.policy.compile.policy_set import CompiledPolicySet

_SHOWN = 5  # namespaces and policies named in a remark; the others are counted


@dataclass(frozen=True, slots=True)
class NamespaceOptions:
    """The labels and the annotations of every namespace; None: they are not given."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None

    @property
    def flag(self) -> str:
        """One of the options that are given; empty if none is."""
        return next((_FLAGS[part] for part in self.parts), "")

    @property
    def parts(self) -> list[NamespacePart]:
        """The parts that are given."""
        given = {"labels": self.labels, "annotations": self.annotations}
        return [part for part in PARTS if given.get(part) is not None]

    def of(self, name: str, known: Namespaces) -> JSONObject | None:
        """Return the Namespace with what is given instead of what is known; None: nothing is."""
        if not self.parts or not name:
            return None
        namespace = known.object(name)
        metadata = dict(namespace["metadata"])
        if self.labels is not None:
            metadata["labels"] = {**self.labels, NAMESPACE_NAME: name}
        if self.annotations is not None:
            metadata["annotations"] = self.annotations
        return {"apiVersion": "v1", "kind": "Namespace", **namespace, "metadata": metadata}

    def echo_unknown(
        self, policies: CompiledPolicySet, reviews: Iterable[JSONObject | bytes]
    ) -> None:
        """Print a remark on standard error if policies read of the namespaces of these requests
        what neither the options nor the sources say.
        """
        unknown = UnknownNamespaces(policies, self.parts)
        for each in reviews:
            unknown.add(each)
        echo_unknown(unknown)


def echo_unknown(unknown: UnknownNamespaces) -> None:
    """Print the remark of ``NamespaceOptions.echo_unknown`` about what was collected."""
    if not unknown.readers:
        return
    read = {part: unknown.readers[part] for part in PARTS if part in unknown.readers}
    parts = _listed(f"{part} (read by {_listed(by)})" for part, by in read.items())
    noun = "namespace" if len(unknown.names) == 1 else "namespaces"
    flags = " and ".join(_FLAGS[part] for part in read if part in _FLAGS)
    hint = f"give {flags}, or " if flags else ""
    hint += "add Namespace objects to the manifests or policies"
    warn(
        f"{noun} {_listed(unknown.names)}: {parts} are not known and count as missing\n"
        f"  {styled('hint', fg='cyan')}: {hint}"
    )


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    shown = every[:_SHOWN] + ([f"{len(every) - _SHOWN} more"] if len(every) > _SHOWN else [])
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _labels(text: str) -> dict[str, str]:
    return _pairs("labels", filter(None, text.split(",")))


def _annotations(text: str) -> dict[str, str]:
    """A comma belongs to the value unless KEY= follows it."""
    pairs: list[str] = []
    for piece in text.split(","):
        if pairs and "=" not in piece:
            pairs[-1] += f",{piece}"
        else:
            pairs.append(piece)
    return _pairs("annotations", pairs)


def _pairs(part: NamespacePart, pairs: Iterable[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            key, colon, value = pair.partition(":")
            hint = f": write {key.strip()}={value.strip()}" if colon else ""
            wrong = f"expected KEY=VALUE, got {pair!r}{hint}"
            raise click.BadParameter(wrong, param_hint=_FLAGS[part])
        found[key.strip()] = value.strip()
    return found


_FLAGS: dict[NamespacePart, str] = {
    "labels": "--namespace-labels",
    "annotations": "--namespace-annotations",
}
_LABELS = option(
    f"{_FLAGS['labels']} KEY=VALUE,…",
    "Set the labels of the request's namespace, for namespaceSelector and namespaceObject.",
    to="labels",
    read=_labels,
)
_ANNOTATIONS = option(
    f"{_FLAGS['annotations']} KEY=VALUE,…",
    "Set the annotations of the request's namespace, for namespaceObject. A comma is part of "
    "the value unless KEY= follows.",
    to="annotations",
    read=_annotations,
)
namespace_options = grouped("namespaces", NamespaceOptions, (_LABELS, _ANNOTATIONS))
namespace_label_options = grouped("namespaces", NamespaceOptions, (_LABELS,))
