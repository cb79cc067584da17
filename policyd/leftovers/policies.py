"""Finds policies and exceptions of other engines that have no effect, or duplicate a Policy. Reads
nothing: the documents are arguments.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from policyd.errors import Problem
from policyd.importers.all import convert, exempted_policies, is_exception, is_policy, named_as
from policyd.importers.provenance import origin, provenance_of
from policyd.json_types import JSONObject, object_in
from policyd.leftovers.engines import OtherEngine
from policyd.policy.source.loaded_documents import Document


def without_effect(
    live: Sequence[Document], engines: Mapping[str, OtherEngine]
) -> Iterator[Problem]:
    """Yield advice for each policy that its engine does not execute, and each exception that its
    engine does not read, or whose policies do not exist.
    """
    policies = {(each.group, named_as(each)) for each in live if is_policy(each)}
    for each in live:
        engine = engines.get(each.group)
        if engine is None:
            continue
        place = f"{each.file}{_within(each)}"
        hint = f"kubectl delete {place} removes it"
        why = engine.unexecuted(each)
        if is_exception(each.group, each.kind):
            names = exempted_policies(each)
            if not why and not any((each.group, name) in policies for name in names):
                why = f"there is no policy {' or '.join(names)}"
            why = why or engine.unread(each)
            message, rule = f"it exempts nothing: {why}", "unread-exception"
        else:
            message, rule = f"nothing enforces it: {why}", "unexecuted-policy"
            hint = f"policyd import --cluster imports it; {hint}"
        if why:
            yield Problem(message, place, hint=hint, rule=rule, severity="advice")


def enforced_twice(
    policies: Iterable[Document], live: Sequence[Document], engines: Mapping[str, OtherEngine]
) -> Iterator[Problem]:
    """Yield advice for each rule of another engine that duplicates a Policy, at the first Policy
    that was imported from it.
    """
    sources = {origin(each): each for each in live if each.group in engines}
    reported = set()
    for policy in policies:
        found, rule = provenance_of(policy)
        source = sources.get(found.source)
        if source is None or engines[source.group].unexecuted(source) or not _acts(policy.raw):
            continue
        if (found.source, rule) in reported:
            continue
        reported.add((found.source, rule))
        now = [one for each in convert(source, live) for one in each.documents]
        if any(_acts(one.raw) for one in now):
            engine, named = engines[source.group].name, f", rule {rule}" if rule else ""
            command = f"kubectl edit {source.file}{_within(source)}"
            message = f"{engine} still enforces its source{named}: {command}"
            yield policy.advice("", "enforced-twice", message)


def _acts(policy: JSONObject) -> bool:
    """Whether a Policy denies or changes anything, or will: reporting twice is harmless."""
    spec = object_in(policy, "spec")
    rollout = spec.get("rollout")
    if isinstance(rollout, dict) and not (rollout.get("enforce") or rollout.get("until")):
        return False
    denies = spec.get("validations") and "Deny" in (spec.get("validationActions") or ["Deny"])
    return bool(denies or spec.get("mutations"))


def _within(document: Document) -> str:
    return f" -n {document.namespace}" if document.namespace else ""
