"""One run from the first namespace to the last removal, whatever happens in between."""

import secrets
from collections.abc import Callable, Sequence

from policyd.cluster.objects import ObjectClient
from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion
from tools.crossover.cpu import CpuSource
from tools.crossover.installing import Installation
from tools.crossover.measuring import measure
from tools.crossover.model import CreateRequest, Limits, Results
from tools.crossover.planning import GROUP, CrossoverPlan
from tools.crossover.requests import resources_of
from tools.crossover.results import results

_VERSIONS = ("v1", "v1beta1")


def new_run() -> str:
    """Return the suffix of everything that one run creates."""
    return secrets.token_hex(3)


async def version_of(client: ObjectClient) -> KubernetesVersion:
    """Return the version of a cluster."""
    return KubernetesVersion.parse(str((await client.get("version"))["gitVersion"]))


async def served_kinds(client: ObjectClient) -> frozenset[str]:
    """Return the kinds of policies that a cluster serves, as ``apiVersion/kind``."""
    found: set[str] = set()
    for version in _VERSIONS:
        kinds = await resources_of(client, f"apis/{GROUP}/{version}")
        found.update(f"{GROUP}/{version}/{kind}" for kind in kinds)
    return frozenset(found)


async def run(
    client: ObjectClient,
    plan: CrossoverPlan,
    requests: Sequence[CreateRequest],
    *,
    webhooks: Sequence[JSONObject],
    sources: Sequence[CpuSource],
    limits: Limits,
    report: Callable[[str], None],
) -> Results:
    """Create what the plan says, measure, and remove it: after errors and cancellation too."""
    installation = Installation(client, plan.run, report)
    try:
        report("waiting until the namespaces accept objects")
        await installation.namespaces(plan, requests)
        report("waiting until the policies are in force")
        await installation.policies(plan, webhooks)
        report("measuring")
        measured = await measure(client, plan.arrangements, requests, sources, limits)
    finally:
        report("removing what was created")
        await installation.remove()
    return results(plan.arrangements, measured)
