"""Checks of exported documents: that Kubernetes accepts them, and that their names are free.

When a policy is written, Kubernetes knows only what the minor version before it also knew, so that
it can be downgraded (k8s.io/apiserver pkg/cel/environment, NewExpressions).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from policyd.cel.syntax.ast import Call
from policyd.cel.syntax.recursion import nodes
from policyd.errors import Problem
from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.export.served import KINDS
from policyd.json_types import JSONObject
from policyd.policy.compile.checked import checked_expressions
from policyd.policy.compile.compiler import check
from policyd.policy.lint.version_needs import needs
from policyd.policy.model.names import STATIC_SUFFIX
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_built
from policyd.versions import OLDEST, KubernetesVersion

# Functions that the oldest version introduced: without these, no other function of their libraries
# is of use.
_SINCE_OLDEST = frozenset({"ip", "isIP", "ip.isCanonical", "cidr", "isCIDR"})
# STATIC_SUFFIX: once that feature is on by default.
_RESERVED_SINCE = KubernetesVersion(1, 37)
# The size that etcd accepts in a request, less room for fields that the API server adds.
_MAX_BYTES = 1_500_000
_Name = tuple[str, str]  # kind and name of a document


def checked(
    part: ExportedPart, version: KubernetesVersion, definitions: Sequence[JSONObject] = ()
) -> ExportedPart:
    """Return the part; without documents, with reasons, if they would be invalid: they are loaded
    and compiled as if they were written for that version. ``definitions`` are the
    CustomResourceDefinitions that are known.
    """
    if not part.documents:
        return part
    sources = load_built([*part.documents, *definitions], version=version)
    reasons: dict[tuple[str, str], Reason] = {}
    names = [document["metadata"]["name"] for document in part.documents]
    if version >= _RESERVED_SINCE and any(name.endswith(STATIC_SUFFIX) for name in names):
        text = (
            f"Kubernetes {version} reserves names that end in {STATIC_SUFFIX} for static manifests"
        )
        reasons["metadata.name", text] = Reason("metadata.name", text)
    for document in part.documents:
        size = len(json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size > _MAX_BYTES:
            name = document["metadata"]["name"]
            text = f"{name} has {size:,} bytes; etcd accepts {_MAX_BYTES:,}"
            reasons["spec", text] = Reason("spec", text)
    for each in (*check(sources), *_too_new(sources)):
        number = _number(each.file)
        if each.severity != "error" or number >= len(part.documents):
            continue
        name = part.documents[number]["metadata"]["name"]
        text = f"invalid in Kubernetes {version}: {name}: {each.path}: {each.message}"
        # The policies for pod templates have the problems of that for Pods.
        reasons.setdefault((each.path, each.message), Reason("spec", text))
    return part.refused(reasons.values())


def _too_new(sources: Sources) -> Iterator[Problem]:
    """Yield what a version knows only in policies that were written in a later one."""
    version = sources.version
    for document, expression, each in checked_expressions(sources):
        found = {need.what for need in needs(each) if need.version == version}
        if version == OLDEST:
            called = {node.function for node in nodes(each.expr) if isinstance(node, Call)}
            found |= {f"function {name}()" for name in called & _SINCE_OLDEST}
        # Syntax is the same for new and stored policies.
        for what in sorted(found):
            if not what.startswith("field "):
                since = f"{version.major}.{version.minor + 1}"
                message = f"{what} is accepted in new policies from Kubernetes {since}"
                yield Problem(message, file=document.file, path=expression.at)


def _number(file: str) -> int:
    """Return the index of a document, given the name under which it is loaded."""
    return int(file.removeprefix("documents[").removesuffix("]"))


def with_free_names(policies: Sequence[ExportedPolicy]) -> tuple[ExportedPolicy, ...]:
    """Return the policies; parts with a document whose name another document has get a reason.

    A document that is exported as it is keeps its name, then one with the name of its policy, then
    the others; a policy keeps its name even if it is not exported.
    """
    owners: dict[_Name, tuple[int, int]] = {}
    for number, policy in enumerate(policies):
        for rank, name in _claims(policy):
            owner = owners.setdefault(name, (rank, number))
            owners[name] = min(owner, (rank, number))
    return tuple(
        replace(
            policy, parts=tuple(_named(part, number, owners, policies) for part in policy.parts)
        )
        for number, policy in enumerate(policies)
    )


def _claims(policy: ExportedPolicy) -> Iterator[tuple[int, _Name]]:
    own = policy.kind == "Policy"
    for part in policy.parts:
        yield int(own), (KINDS[part.webhook], policy.name)
        for name in _names(part.documents):
            yield int(own) + int(name[1] != policy.name), name


def _named(
    part: ExportedPart,
    number: int,
    owners: dict[_Name, tuple[int, int]],
    policies: Sequence[ExportedPolicy],
) -> ExportedPart:
    return part.refused(
        Reason(
            "metadata.name",
            f"the export of {policies[owner].kind} {policies[owner].name} has the {kind} {name}, "
            "too",
        )
        for kind, name in _names(part.documents)
        if (owner := owners[kind, name][1]) != number
    )


def _names(documents: Iterable[JSONObject]) -> list[_Name]:
    return [(document["kind"], document["metadata"]["name"]) for document in documents]
