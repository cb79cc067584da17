"""``policyd webhooks status``: whether a cluster calls policyd for every policy. Only reads."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import click

from policyd.cli.shared.output import echo_json, fields_json, format_option, styled
from policyd.cli.shared.policy_options import loaded
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.webhooks.in_tree import InTreeState, in_tree
from policyd.cli.webhooks.options import VERBOSE, WebhookOptions, webhook_options
from policyd.cli.webhooks.reach_output import all_reached, reach_json, reach_text
from policyd.cli.webhooks.synchronizing import cluster, configurations, current, every
from policyd.cluster.commands import Objects
from policyd.json_types import JSON, JSONObject
from policyd.placement.comparing import in_step
from policyd.placement.document_steps import removals
from policyd.placement.placed_documents import key_of, label_of
from policyd.webhooks.configuration_paths import RESOURCES
from policyd.webhooks.endpoints import endpoint_slices, ready_endpoints
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.rendering.edit_webhook import GATE
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress

_EPILOG = """\b
Examples:
  policyd webhooks status -p policies/
  policyd webhooks status -p policies/ -v --context prod
  policyd webhooks status -p policies/ --in-tree auto
  policyd webhooks status -p policies/ --service shop/guard --format json

\b
What is checked:
  policies  each is reached by the rules of the webhooks that call policyd,
            configurations with other names included
  service   the Service exists and has a ready endpoint (not with --url)
  caBundle  each of these webhooks has one
  drift     the configurations are as policyd webhooks render prints them
  in-tree   the documents of policies that the API server is to enforce are
            stored unchanged, and there are no others

Exit status: 0 if all is well, 1 if something is not, 2 if the input is invalid or the cluster
cannot be reached.
"""


@click.command("status", epilog=_EPILOG)
@webhook_options
@VERBOSE
@format_option("text", "json")
def command(*, given: WebhookOptions, verbose: bool, form: str) -> None:
    """Show by which webhooks of a cluster each of your policies is reached, or why it is not.

    Only webhooks that call policyd, by --service or --url, count. Give the options that you give to
    policyd webhooks apply, or differences are reported.

    With --in-tree, also show which engine enforces each policy, and why.
    """
    options, mode = given.options, given.mode
    if mode is None:
        policies = loaded(given.paths)[1]
    placed: InTreeState | None = None
    with cluster(given.kube) as objects:
        if mode is not None:
            placed = in_tree(objects, given, mode, tries=False)
            policies = placed.policies.without(placed.in_force)
        actual = [each for kind in RESOURCES for each in every(objects, kind)]
        service = [] if options.service is None else [*service_faults(objects, options.service)]
    wanted = configurations(policies, options)
    own = [own_webhooks(each, options) for each in actual]
    results = reach(policies, own)
    faults = [*service, *bundle_faults(own), *drift(wanted, actual, options.name)]
    if placed is not None:
        faults += _misplaced(placed, options.name)
    if form == "json":
        report = {"policies": reach_json(results), "faults": faults}
        echo_json(report if placed is None else {**report, "placement": _placement_json(placed)})
    else:
        lines = [f"{styled('fault', fg='red')}: {fault}" for fault in faults]
        where = [] if placed is None else [*_placement_text(placed)]
        echo_wrapped("\n".join([*where, *reach_text(results, verbose=verbose), *lines]))
    raise SystemExit(0 if all_reached(results) and not faults else 1)


def _placement_text(found: InTreeState) -> Iterator[str]:
    """Yield a line for each part of each policy: where it runs, and why."""
    for each in found.plan.placement.parts:
        runs = "in the API server" if each.part in found.in_force else "by the webhook"
        name = styled(each.policy, bold=True)
        yield f"{name} ({each.kind}, {each.webhook}) runs {runs}: {each.why}"


def _placement_json(found: InTreeState) -> list[JSONObject]:
    return [
        {
            **fields_json(each, "policy", "kind", "webhook"),
            "engine": "api-server" if each.part in found.in_force else "webhook",
            "chosen": each.engine,
            "why": each.why,
        }
        for each in found.plan.placement.parts
    ]


def _misplaced(found: InTreeState, registration: str) -> Iterator[str]:
    """Yield how the placed documents of a cluster differ from those that it should have."""
    wanted = found.documents
    for key, each in wanted.items():
        there = found.stored.get(key)
        if there is None:
            yield f"there is no {label_of(key)}"
        elif not in_step(there, each):
            yield f"{label_of(key)} is not what would be applied"
    for step in removals(found.plan.wanted, found.stored, registration):
        if key_of(step.document) not in wanted:
            yield f"{label_of(key_of(step.document))} is not needed"


def own_webhooks(configuration: JSONObject, options: RenderOptions) -> JSONObject:
    """Return a configuration with only the webhooks that call policyd."""
    webhooks = [each for each in configuration.get("webhooks") or () if _calls(each, options)]
    return {**configuration, "webhooks": webhooks}


def _calls(webhook: JSONObject, options: RenderOptions) -> bool:
    config = webhook.get("clientConfig") or {}
    if options.service is None:
        wanted, given = urlsplit(options.url), urlsplit(config.get("url") or "")
        return (given.scheme, given.netloc) == (wanted.scheme, wanted.netloc)
    service = config.get("service") or {}
    wanted_service = (options.service.namespace, options.service.name)
    return (service.get("namespace"), service.get("name")) == wanted_service


def bundle_faults(configurations: Sequence[JSONObject]) -> Iterator[str]:
    """Yield the webhooks without a caBundle: the API server then trusts only its system roots."""
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            if not webhook["clientConfig"].get("caBundle"):
                yield f"{webhook['name']} has no caBundle"


def service_faults(objects: Objects, service: ServiceAddress) -> Iterator[str]:
    """Yield what is wrong with the Service and its endpoints."""
    label = f"Service {service.namespace}/{service.name}"
    found = current(objects, f"api/v1/namespaces/{service.namespace}/services/{service.name}")
    if found is None:
        yield f"{label} does not exist"
        return
    ports = [each.get("port") for each in (found.get("spec") or {}).get("ports") or ()]
    if service.port not in ports:
        yield f"{label} has no port {service.port}"
    if not _ready(objects, service):
        yield f"{label} has no ready endpoint"


def _ready(objects: Objects, service: ServiceAddress) -> int:
    """Return the number of ready endpoints."""
    pages = objects.list_pages(*endpoint_slices(service.namespace, service.name))
    return ready_endpoints(each for page in pages for each in page.get("items") or ())


def drift(wanted: Sequence[JSONObject], actual: Sequence[JSONObject], name: str) -> Iterator[str]:
    """Yield where the configurations of a cluster differ from rendered ones. Fields that are not
    rendered belong to others, and the webhook for edits of policies to no policy.
    """
    by_kind = {
        each["kind"]: each
        for each in actual
        if each["metadata"]["name"] == name and each.get("webhooks")
    }
    for each in wanted:
        kind = each["kind"]
        found = by_kind.pop(kind, None)
        if found is None:
            yield f"there is no {kind} {name}"
            continue
        hooks = {hook["name"]: hook for hook in found.get("webhooks") or ()}
        for hook in each["webhooks"]:
            other = hooks.pop(hook["name"], None)
            if other is None:
                yield f"{kind} {name} has no webhook {hook['name']}"
                continue
            for field, value in hook.items():
                if not _same(value, other.get(field)):
                    yield f"{hook['name']} has another value of {field}"
            if "matchConditions" not in hook and other.get("matchConditions"):
                yield f"{hook['name']} has another value of matchConditions"
        hooks.pop(GATE, None)
        for surplus in hooks:
            yield f"{kind} {name} has the webhook {surplus}, which no policy needs"
    for kind, found in by_kind.items():
        if any(hook["name"] != GATE for hook in found["webhooks"]):
            yield f"{kind} {name} is not needed by any policy"


def _same(wanted: JSON, actual: JSON) -> bool:
    """Whether a value is as rendered; fields of objects that are not rendered do not count."""
    if isinstance(wanted, dict):
        if not wanted:
            return not actual
        return isinstance(actual, dict) and all(
            _same(value, actual.get(key)) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(actual, list)
            and len(wanted) == len(actual)
            and all(map(_same, wanted, actual))
        )
    return bool(wanted == actual)
