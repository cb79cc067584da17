"""CPU time of policies in three placements: all in the API server, all at the webhook, and what
``--in-tree auto`` chooses. That of a real kube-apiserver and of policyd together, for one create of
a Pod, above that of the same create without policies.

Every set of policies has an API server of its own. All placements of a set are in force at once,
each in a namespace, and take turns in rounds (``tools.crossover.measuring``). CPU time is that of
the kernel's accounting of each process, to the nanosecond.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.option_values import Address
from policyd.placement.choosing import choose
from policyd.placement.placed_documents import ServedKinds
from policyd.placement.placement import PlacementMode, PolicyPart
from policyd.policy.compile import compiler
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load, load_built
from policyd.versions import supported
from policyd.webhooks.rendering.options import RenderOptions
from tests import kubernetes
from tests.e2e.cluster import BUILT, Cluster, cluster
from tests.e2e.kubectl import kubeconfig_document
from tests.shared import BINARIES
from tools.bench import core
from tools.bench.server import cpu_seconds
from tools.crossover.cpu import CpuReading
from tools.crossover.estimates import Estimate
from tools.crossover.installing import Installation
from tools.crossover.measuring import measure
from tools.crossover.model import (
    API_SERVER,
    POLICYD_PROCESS,
    TOGETHER,
    Arrangement,
    CreateRequest,
    Limits,
)
from tools.crossover.planning import (
    WEBHOOKS,
    CrossoverPlan,
    namespace_object,
    placed_documents,
)
from tools.crossover.requests import create_requests
from tools.crossover.results import results
from tools.crossover.serving import serving
from tools.crossover.webhooks import served_documents, webhook_configurations

VERSION = "admissionregistration.k8s.io/v1"
SERVED = ServedKinds({
    f"{kind}AdmissionPolicy{end}": VERSION
    for kind in ("Validating", "Mutating")
    for end in ("", "Binding")
})  # fmt: skip
MODES: dict[PlacementMode, str] = {
    "only": "all in the API server",
    "never": "all at the webhook",
    "auto": "auto",
}
# How many copies of the 16 validating policies, and how many mutating policies.
SETS = {"16 VAP": (1, 0), "64 VAP": (4, 0), "10 MAP": (0, 10), "16 VAP, 10 MAP": (1, 10)}
LIMITS = Limits(creates=2000, seconds=600, rounds=20)
SETTLING = 3.0  # seconds: where two engines refuse the marker, the later one is not seen


class ChildrenCpu:
    """The CPU time of all child processes whose command has a word. Linux only."""

    def __init__(self, name: str, word: str) -> None:
        self.name = name
        self._processes = [pid for pid, command in _children() if word in command]

    async def read(self) -> CpuReading:
        """Read it now."""
        spent = sum(map(cpu_seconds, self._processes))
        return CpuReading(spent, tuple(map(float, self._processes)))


def _children() -> Iterator[tuple[int, list[str]]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended
            continue
        if parent == os.getpid():
            yield int(folder.name), [Path(command[0]).name, *command[1:]]


def policies(copies: int, mutating: int, version: str) -> Sources:
    """That many copies of the validating policies, and mutating policies."""
    files = [*sorted(core.VAP.glob("*.yaml"))]
    found: list[JSONObject] = []
    for document in load(files).documents:
        for number in range(copies):
            found.append(_renamed(document.raw, f"-{number}"))
    labels = sorted(core.MAP.glob("label-json-*.yaml"))[:mutating]
    found += [each.raw for each in load(labels).documents] if labels else []
    return load_built(found, version=supported(version))


def _renamed(document: JSONObject, end: str) -> JSONObject:
    made: JSONObject = json.loads(json.dumps(document))
    made["metadata"]["name"] += end
    if "policyName" in made["spec"]:
        made["spec"]["policyName"] += end
    return made


def plan_of(mode: PlacementMode, sources: Sources) -> CrossoverPlan:
    """One namespace in which every part of the policies is evaluated where the mode places it."""
    namespace = f"placed-{mode}"
    exports = exported(sources)
    placement = choose(exports, compiler.compile_strict(sources), SERVED, mode)
    arrangements: list[Arrangement] = []
    documents: list[JSONObject] = []
    for webhook in WEBHOOKS:
        parts: dict[PolicyPart, tuple[JSONObject, ...]] = {
            (policy.name, webhook): part.documents
            for policy in exports
            for part in policy.parts
            if part.webhook == webhook
        }
        inside = [part for part in parts if part in placement.in_tree]
        outside = [part for part in parts if part not in placement.in_tree]
        if inside:
            placed = [document for part in inside for document in parts[part]]
            documents += placed_documents(placed, mode, namespace)
            arrangements.append(Arrangement("in-tree", webhook, namespace, _names(inside)))
        if outside:
            arrangements.append(Arrangement("webhook", webhook, namespace, _names(outside)))
    documents.sort(key=lambda each: str(each["kind"]).endswith("Binding"))
    return CrossoverPlan(
        mode, tuple(arrangements), (namespace_object(namespace, mode),), tuple(documents), ()
    )


def _names(parts: Sequence[PolicyPart]) -> tuple[str, ...]:
    return tuple(name for name, _ in parts)


async def placed(
    client: ObjectClient, plan: CrossoverPlan, sources: Sources, stack: ExitStack
) -> tuple[CreateRequest, ...]:
    """Bring the policies of a placement into force, with a policyd for those at the webhook."""
    requests = await create_requests(client, ())
    installation = Installation(client, plan.run, print)
    await installation.namespaces(plan, requests)
    webhooks: list[JSONObject] = []
    served = served_documents(sources, plan)
    if any(each.engine == "webhook" for each in plan.arrangements):
        server = stack.enter_context(serving(served, Address("127.0.0.1", 0), sources.version))
        called = RenderOptions(url=server.url, ca_bundle=server.authority, excluded_namespaces=())
        compiled = compiler.compile_strict(load_built(served, version=sources.version))
        webhooks = webhook_configurations(compiled, plan, called)
    await installation.policies(plan, webhooks)
    return requests


async def measured(
    api: Cluster, sources: Sources, stack: ExitStack
) -> dict[PlacementMode, dict[str, Estimate]]:
    """The CPU time of each placement, by process and together."""
    names = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    file = api.folder / "kubeconfig"
    file.write_text(json.dumps(kubeconfig_document(api, *names)))
    client = ObjectClient(configuration(file), 30.0)
    try:
        empty = Arrangement("none", None, "placed-none")
        nothing = namespace_object(empty.namespace, "none")
        plans: dict[str, CrossoverPlan] = {
            "none": CrossoverPlan("none", (empty,), (nothing,), (), ()),
            **{mode: plan_of(mode, sources) for mode in MODES},
        }
        for plan in plans.values():
            requests = await placed(client, plan, sources, stack)
        await asyncio.sleep(SETTLING)
        cpu = [
            ChildrenCpu(API_SERVER, "kube-apiserver"),
            ChildrenCpu(POLICYD_PROCESS, "policyd"),
        ]
        arrangements = [plan.arrangements[0] for plan in plans.values()]
        found = results(arrangements, await measure(client, arrangements, requests, cpu, LIMITS))
    finally:
        await client.close()
    refused = [each.message for each in found.arrangements if each.refused]
    if refused:
        raise SystemExit(f"a create was refused: {refused[0]}")
    return {
        mode: dict(each.cpu or {}) for mode, each in zip(MODES, found.arrangements[1:], strict=True)
    }


def placements() -> Iterator[core.Row]:
    """A row for each set and placement."""
    if not (os.environ.get(BINARIES) or (BUILT / kubernetes.chosen()).exists()):
        yield "not measured", f"needs a kube-apiserver: set {BINARIES}", "none"
        return
    for name, (copies, mutating) in SETS.items():
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="placements-")))
            api = stack.enter_context(cluster(folder))
            sources = policies(copies, mutating, api.version)
            found = asyncio.run(measured(api, sources, stack))
        for mode, cpu in found.items():
            best = min(found[other][TOGETHER].value for other in ("only", "never"))
            target = f"{best:,.0f} µs" if mode == "auto" else "none"
            yield f"{name}, {MODES[mode]}", _figure(cpu), target


def _figure(cpu: dict[str, Estimate]) -> str:
    both = cpu[TOGETHER]
    parts = f"{cpu[API_SERVER].value:,.0f} + {cpu[POLICYD_PROCESS].value:,.0f}"
    return f"{both.value:,.0f} µs ({both.low:,.0f} to {both.high:,.0f}; {parts})"
