"""``--in-tree``: what the cluster serves and stores, and the plan for it. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from policyd.cli.shared.policy_options import loaded
from policyd.cli.webhooks.options import WebhookOptions
from policyd.cli.webhooks.synchronizing import every_at
from policyd.cluster.commands import Objects
from policyd.errors import ConfigError
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.ownership import MANAGER
from policyd.placement.comparing import in_step
from policyd.placement.placed_documents import (
    GROUP_PATH,
    Key,
    ServedKinds,
    is_binding,
    key_of,
    list_path,
    path_of,
    served_kinds,
    version_paths,
)
from policyd.placement.placement import PlacementMode, PolicyPart
from policyd.placement.planning import PlacementPlan, PlacementPlanner
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.versions import KubernetesVersion, nearest

# Statuses with which an API server refuses a document itself, not who writes it.
_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


@dataclass(frozen=True, slots=True)
class InTreeState:
    """The policies as the cluster's version evaluates them, what is stored, and the plan. Parts are
    ``refused`` by the API server, not by what is known of it.
    """

    policies: CompiledPolicySet
    served: ServedKinds
    stored: dict[Key, JSONObject]
    plan: PlacementPlan
    refused: Mapping[PolicyPart, str]

    @property
    def documents(self) -> dict[Key, JSONObject]:
        """Return the documents that are wanted."""
        return {key_of(each): each for part in self.plan.wanted.values() for each in part}

    @property
    def in_force(self) -> frozenset[PolicyPart]:
        """Return the parts that are stored as they are wanted."""
        return self.plan.in_force(self.stored)


def cluster_version(objects: Objects) -> KubernetesVersion:
    """Return the version of the cluster, or the nearest supported one."""
    reported = str(objects.get("version").get("gitVersion"))
    try:
        return nearest(KubernetesVersion.parse(reported))[0]
    except ValueError as error:
        raise ConfigError(f"GET /version: expected {error}, got {reported!r}") from None


def in_tree(
    objects: Objects,
    given: WebhookOptions,
    mode: PlacementMode,
    policies: tuple[Sources, CompiledPolicySet] | None = None,
    *,
    force: bool = False,
    tries: bool = True,
) -> InTreeState:
    """Return the plan for a cluster. Raises ConfigError if the mode is ``only`` and a policy cannot
    run in the API server.

    ``policies``: the ones that are loaded already, for the version of the cluster. ``tries``: find
    out by a dry run whether the API server accepts each document that it does not store yet.
    """
    sources, compiled = policies or loaded(given.paths, cluster_version(objects))
    served = served_in(objects)
    stored = stored_documents(objects, served)
    planner = PlacementPlanner(compiled, exported(sources), given.options, mode)
    refused: dict[PolicyPart, str] = {}
    plan = planner.plan(served, stored)
    while tries and (more := _refusals(objects, plan, stored, force=force)):
        refused |= more
        plan = planner.plan(served, stored, refused)
    if plan.placement.problems:
        listed = "\n  ".join(plan.placement.problems)
        raise ConfigError(
            f"these policies cannot run in the API server; nothing is changed:\n  {listed}"
        )
    return InTreeState(compiled, served, stored, plan, refused)


def served_in(objects: Objects) -> ServedKinds:
    """Return the kinds that the cluster serves."""
    return served_kinds(objects.get(path) for path in version_paths(objects.get(GROUP_PATH)))


def stored_documents(objects: Objects, served: ServedKinds) -> dict[Key, JSONObject]:
    """Return every policy and binding in the cluster, no matter who made it."""
    return {
        key_of(each): each
        for kind, version in served.versions.items()
        for each in every_at(objects, list_path(kind, version), kind, version)
    }


def _refusals(
    objects: Objects, plan: PlacementPlan, stored: dict[Key, JSONObject], *, force: bool
) -> dict[PolicyPart, str]:
    """Return the parts with a document that the API server refuses."""
    from policyd.cluster.objects import ObjectError

    found: dict[PolicyPart, str] = {}
    for part, documents in plan.wanted.items():
        for each in documents:
            there = stored.get(key_of(each))
            if there is not None and in_step(there, each):
                continue
            try:
                objects.apply(path_of(each), each, MANAGER, force=force, dry_run=True)
            except ObjectError as error:
                if error.status not in _REFUSED:
                    raise
                what = "binding" if is_binding(each["kind"]) else "policy"
                message = error.body.get("message") or error
                found[part] = f"the API server refuses the {what}: {message}"
    return found
