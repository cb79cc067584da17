"""Finds webhook configurations that call a Service which cannot answer. Reads only Services."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from policyd.bounded_text import few
from policyd.cluster import open_reader
from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.leftovers.services import Services, configurations, service_of
from policyd.webhooks.configuration_paths import RESOURCES

_NAMED = 5  # rules that a message names
_Indexed = Sequence[tuple[int, JSONObject]]  # webhooks with their indexes


def dead_webhooks(registered: Iterable[JSONObject], services: Services) -> Iterator[Problem]:
    """Yield an error for each configuration whose dead webhooks deny requests, and advice for
    others with dead webhooks.
    """
    for each in registered:
        webhooks = list(enumerate(each.get("webhooks") or ()))
        dead: dict[str, list[tuple[int, JSONObject]]] = {}
        for index, webhook in webhooks:
            service = service_of(webhook)
            fault = services.fault(*service) if service else ""
            if fault:
                dead.setdefault(fault, []).append((index, webhook))
        for fault, found in dead.items():
            yield _problem(each, fault, found, whole=len(found) == len(webhooks))


def blocking_webhooks(kubeconfig: Path | None, timeout: float, own: str) -> list[Problem]:
    """Return the errors about webhooks except the configurations named ``own``, whose server has
    just started. Ignores objects that the server may not read, so that it needs no permissions.
    """
    with open_reader(kubeconfig, None, timeout) as reader:
        found = [each for each in configurations(reader, []) if each["metadata"]["name"] != own]
        problems = dead_webhooks(found, Services(reader, []))
        return [each for each in problems if each.severity == "error"]


def _problem(configuration: JSONObject, fault: str, dead: _Indexed, *, whole: bool) -> Problem:
    name, resource = configuration["metadata"]["name"], RESOURCES[configuration["kind"]]
    blocking = [webhook for _, webhook in dead if webhook.get("failurePolicy") != "Ignore"]
    shown = blocking or [webhook for _, webhook in dead]
    rules = [_rule(rule) for webhook in shown for rule in webhook.get("rules") or ()]
    requests = few([*dict.fromkeys(rules)], _NAMED)
    message = f"{fault}, so requests are admitted without its webhooks: {requests}"
    if blocking:
        message = (
            f"{fault}, and failurePolicy Fail denies requests that its webhooks match: {requests}"
        )
    remove = f"kubectl delete {resource} {name}" if whole else _patch(resource, name, dead)
    return Problem(
        message,
        file=f"{resource}/{name}",
        hint=f"start its workload, or remove {'it' if whole else 'these webhooks'}: {remove}",
        rule="blocking-webhook" if blocking else "dead-webhook",
        severity="error" if blocking else "advice",
    )


def _rule(rule: Mapping[str, Sequence[str]]) -> str:
    """Return ``CREATE/UPDATE pods, deployments.apps``."""
    kinds = [
        f"{resource}.{group}".removesuffix(".")
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
    ]
    return f"{'/'.join(rule.get('operations') or ())} {' and '.join(kinds)}"


def _patch(resource: str, name: str, dead: _Indexed) -> str:
    """Return the command that removes some webhooks of a configuration, if they still exist."""
    steps: list[JSONObject] = []
    for index, webhook in reversed(dead):
        steps.append({"op": "test", "path": f"/webhooks/{index}/name", "value": webhook["name"]})
        steps.append({"op": "remove", "path": f"/webhooks/{index}"})
    return f"kubectl patch {resource} {name} --type=json -p '{json.dumps(steps)}'"
