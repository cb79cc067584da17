"""Fields of params that a MutatingAdmissionPolicy does not see."""

from collections.abc import Iterator

from policyd.export.expressions.occurrences import Untranslatable, occurrences
from policyd.export.model import Reason
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.model.expressions import expressions_of
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion

_TYPE = ("apiVersion", "kind")


def hidden_fields(
    document: Document, policy: Policy, version: KubernetesVersion
) -> Iterator[Reason]:
    """Yield a reason for each expression that may read the apiVersion or kind of params of a
    built-in kind: the API server does not show them to mutations.
    """
    kind = policy.spec.param_kind
    if kind is None or (kind.api_version, kind.kind) not in BUILTIN_KINDS:
        return
    for each in expressions_of(document.raw):
        if each.path[:2] not in (
            ("spec", "mutations"),
            ("spec", "variables"),
            ("spec", "matchConditions"),
        ):
            continue
        try:
            uses = occurrences(each.text, frozenset({"params"}), version)
        except Untranslatable:
            continue
        if any(
            not use.compared and (not use.accesses or use.accesses[0].key in (None, *_TYPE))
            for use in uses
        ):
            path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in each.path)
            text = f"the API server does not show apiVersion and kind of a {kind.kind} to mutations"
            yield Reason(path.removeprefix("."), text)
