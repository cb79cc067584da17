"""The webhooks of configurations that call policyd: their paths, rules and selectors. Decides
nothing about policies.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.model.suite import Webhook
from policyd.webhooks.needs.selectors import LabelSelection, selection
from policyd.webhooks.needs.targets import TargetIndex, targets_of, without_scopes
from policyd.webhooks.rendering.configurations import KINDS

_DEFAULT_TIMEOUT = 10  # seconds


@dataclass(frozen=True, slots=True, eq=False)
class Caller:
    """A webhook of a configuration; the index holds the targets of its rules, by rule."""

    kind: str
    configuration: str
    name: str
    path: str
    fail: bool
    equivalent: bool
    reinvoked: bool
    timeout: int
    rules: TargetIndex[int]
    namespaces: LabelSelection
    objects: LabelSelection
    conditions: tuple[tuple[str, str], ...]  # name, expression

    @property
    def webhook(self) -> Webhook:
        """Return the webhook of policyd that it calls."""
        return "mutate" if self.kind == KINDS["mutate"] else "validate"

    def evaluates(self, policy: CompiledPolicy) -> bool:
        """Whether the path leads to this policy."""
        end = "fail" if policy.fail else "ignore"
        base = f"/{self.webhook}"
        return self.path in (base, f"{base}/{end}", f"{base}/policy/{policy.name}")


def callers_of(configurations: Iterable[JSONObject]) -> Iterator[Caller]:
    """Yield the webhooks with a path of policyd, with defaults for missing fields."""
    for configuration in configurations:
        kind = configuration.get("kind", "")
        name = (configuration.get("metadata") or {}).get("name", "")
        for webhook in configuration.get("webhooks") or ():
            path = _path(webhook.get("clientConfig") or {})
            if kind in KINDS.values() and path.split("/")[1:2] in (["validate"], ["mutate"]):
                yield _caller(kind, name, path, webhook)


def _caller(kind: str, configuration: str, path: str, webhook: JSONObject) -> Caller:
    return Caller(
        kind=kind,
        configuration=configuration,
        name=webhook.get("name", ""),
        path=path,
        fail=webhook.get("failurePolicy") != "Ignore",
        equivalent=webhook.get("matchPolicy") != "Exact",
        reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
        timeout=webhook.get("timeoutSeconds") or _DEFAULT_TIMEOUT,
        rules=TargetIndex(
            (target, number)
            for number, rule in enumerate(webhook.get("rules") or ())
            for target in without_scopes(targets_of([rule]))
        ),
        namespaces=selection(webhook.get("namespaceSelector")),
        objects=selection(webhook.get("objectSelector")),
        conditions=tuple(
            (each.get("name", ""), each.get("expression", ""))
            for each in webhook.get("matchConditions") or ()
        ),
    )


def _path(client_config: JSONObject) -> str:
    service: JSON = client_config.get("service")
    if isinstance(service, dict):
        return str(service.get("path") or "/")
    return urlsplit(str(client_config.get("url") or "")).path or "/"
