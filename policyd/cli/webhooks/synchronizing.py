"""Render configurations, and bring a cluster's in step, by server-side apply."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from policyd.cli.shared.kubeconfig import TIMEOUT, Kubeconfig
from policyd.cluster.commands import Objects, open_objects
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.ownership import LABELS, MANAGER, POLICYD, labels_in, maker, without_maker
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.configuration_paths import API_VERSION, RESOURCES, path_of
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions
from policyd.webhooks.validation.configurations import problems

OURS = ",".join(f"{key}={value}" for key, value in LABELS.items())
Outcome = Literal["created", "configured", "unchanged", "deleted", "left"]


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """The change of one configuration or placed document, made or planned. ``left``: it is not
    needed any more, and belongs to somebody else.
    """

    kind: str
    name: str
    what: Outcome
    before: JSONObject | None
    after: JSONObject | None

    @property
    def label(self) -> str:
        """Return the name as kubectl shows it."""
        return f"{self.kind.lower()}.admissionregistration.k8s.io/{self.name}"


def configurations(policies: CompiledPolicySet, options: RenderOptions) -> list[JSONObject]:
    """Render the configurations. Raises ConfigError with what the API server would refuse."""
    found = render(policies, options)
    wrong = [
        f"{each['kind']} {options.name}: {problem}" for each in found for problem in problems(each)
    ]
    if wrong:
        raise ConfigError("the API server would refuse this:\n  " + "\n  ".join(wrong))
    return found


@contextmanager
def cluster(kube: Kubeconfig) -> Iterator[Objects]:
    """Connect to a cluster. A refusal of its API server becomes a ConfigError."""
    with open_objects(kube.file, kube.context, TIMEOUT) as objects:
        # Imported here because the client library may be missing; open_objects says so.
        from policyd.cluster.objects import ObjectError

        try:
            yield objects
        except ObjectError as error:
            hint = ""
            if error.reason == "Conflict":
                hint = "\n  hint: --force-conflicts takes these fields from their managers"
            raise ConfigError(f"{error}{hint}") from None


def current(objects: Objects, path: str) -> JSONObject | None:
    """Return an object of the cluster; None if there is none."""
    from policyd.cluster.objects import ObjectError

    try:
        return objects.get(path)
    except ObjectError as error:
        if error.reason != "NotFound":
            raise
        return None


def every(objects: Objects, kind: str) -> list[JSONObject]:
    """Return the configurations of a kind."""
    return every_at(objects, path_of(kind), kind, API_VERSION)


def every_at(objects: Objects, path: str, kind: str, api_version: str) -> list[JSONObject]:
    """Return the objects at the path of a list; its items have no kind and no apiVersion."""
    found = [item for page in objects.list_pages(path) for item in page.get("items") or ()]
    return [{"apiVersion": api_version, "kind": kind, **each} for each in found]


def synchronized(
    objects: Objects,
    wanted: Sequence[JSONObject],
    name: str,
    *,
    force: bool = False,
    dry_run: bool = False,
) -> Iterator[ConfigurationChange]:
    """Apply the configurations, and delete unwanted ones of the name if they
    are ours.
    """
    by_kind = {each["kind"]: each for each in wanted}
    for kind in RESOURCES:
        path = path_of(kind, name)
        before = current(objects, path)
        if kind in by_kind:
            # Another tool, such as Helm, may have set the label to its own name.
            ours = maker(before or {}) in ("", POLICYD)
            body = by_kind[kind] if ours else without_maker(by_kind[kind])
            yield applied(objects, path, body, before, force=force, dry_run=dry_run)
        elif before is not None and before.get("webhooks"):
            ours = is_ours(before)
            if ours and not dry_run:
                objects.delete(path, uid=before["metadata"]["uid"])
            yield ConfigurationChange(kind, name, "deleted" if ours else "left", before, None)


def applied(
    objects: Objects,
    path: str,
    body: JSONObject,
    before: JSONObject | None,
    *,
    force: bool,
    dry_run: bool = False,
) -> ConfigurationChange:
    """Apply one object; ``before`` is what is stored of it."""
    after = objects.apply(path, body, MANAGER, force=force, dry_run=dry_run)
    what: Outcome = "configured" if before is not None else "created"
    if before is not None and shown(before) == shown(after):
        what = "unchanged"
    return ConfigurationChange(body["kind"], body["metadata"]["name"], what, before, after)


def is_ours(configuration: JSONObject) -> bool:
    """Whether a configuration has policyd's labels, and policyd manages fields of it."""
    metadata = configuration.get("metadata") or {}
    managers = {each.get("manager") for each in metadata.get("managedFields") or ()}
    return has_labels(configuration) and MANAGER in managers


def has_labels(configuration: JSONObject) -> bool:
    """Whether a configuration has policyd's labels."""
    return LABELS.items() <= labels_in(configuration).items()


def shown(configuration: JSONObject) -> JSONObject:
    """Return a configuration without what the API server notes about it."""
    noted = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
    metadata = {key: value for key, value in configuration["metadata"].items() if key not in noted}
    return {**configuration, "metadata": metadata}
