"""Checks that the author of an edit may list the objects that its policies newly read. Otherwise
editors of policies could use messages to see objects that only policyd may read. The rule is the
same as Kubernetes' for a paramKind
(pkg/registry/admissionregistration/validatingadmissionpolicy/authz.go): for a kind that is not
served, the author needs permission for all resources of its group.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from policyd._core.lib.authorization import AccessDecision, Attributes, Failure
from policyd.admission.lookups.params import KindOf
from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import flat
from policyd.policy.kinds.served_resource import Served

# Kinds and namespaces that one edit may add: each costs an access review.
MOST = 32


class AccessClient(Protocol):
    """The requests to a cluster; raises nothing."""

    async def may(self, attributes: Attributes) -> AccessDecision | Failure: ...
    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure: ...


class NotLent(NamedTuple):
    """Why an edit is refused. ``certain``: trying again would not help."""

    message: str
    certain: bool = True


async def refusal(
    client: AccessClient, user_info: Mapping[str, Any], reads: Sequence[Sequence[str]]
) -> NotLent | None:
    """Return why an edit that adds these reads is refused; None if its author may list them all."""
    readers: dict[tuple[str, str, str], str] = {}
    for policy, api_version, kind, place in reads:
        readers.setdefault((api_version, kind, place), policy)
    if len(readers) > MOST:
        return NotLent(
            f"an edit may add reads of at most {MOST} kinds; this one adds {len(readers)}"
        )
    asked = [
        _refusal(client, user_info, KindOf(api_version, kind), place, policy)
        for (api_version, kind, place), policy in readers.items()
    ]
    found = [each for each in await asyncio.gather(*asked) if each is not None]
    return min(found, key=lambda each: not each.certain, default=None)


async def _refusal(
    client: AccessClient, user_info: Mapping[str, Any], asked: KindOf, place: str, policy: str
) -> NotLent | None:
    why = f"policy {policy} reads {asked.kind} ({asked.api_version})"
    served = await client.kind(asked)
    if isinstance(served, Failure):
        unknown = f"{why}, and its resource is not known: {served.why}; try again"
        return NotLent(unknown, certain=False)
    group, resource, namespaced = asked.api_version.rpartition("/")[0], "*", False
    if served:
        group, resource, namespaced = served[0].group, served[0].resource, served[0].namespaced
    namespace = place if namespaced else ""
    user = str(user_info.get("username") or "")
    attributes = Attributes(
        user,
        "list",
        groups=tuple(user_info.get("groups") or ()),
        uid=str(user_info.get("uid") or ""),
        extra=tuple(
            sorted((key, tuple(each or ())) for key, each in (user_info.get("extra") or {}).items())
        ),
        group=group,
        resource=resource,
        namespace=namespace,
    )
    answer = await client.may(attributes)
    if isinstance(answer, Failure):
        return NotLent(
            f"{why}, and it is not known whether {attributes}: {answer.why}; try again", False
        )
    if answer.allowed:
        return None
    of_all = f"{resource}.{group}".removesuffix(".")
    where = f"in namespace {namespace}" if namespace else "in all namespaces" if namespaced else ""
    needed = f'user {user} must have "list" permission on {of_all} {where}'.rstrip()
    return NotLent(f"{needed}: {why}")


def may_add_reads(old: JSONObject | None, new: JSONObject | None) -> bool:
    """Whether an edit that was not loaded may add reads to policies. A YAML escape or a compressed
    file may hide the word.
    """
    before, after = (flat(each) if each is not None else {} for each in (old, new))
    if after.get("binaryData", {}) != before.get("binaryData", {}):
        return True
    known = set(before.get("data", {}).values())
    changed = set(after.get("data", {}).values()) - known
    return any("reads" in each or "\\" in each for each in changed)
