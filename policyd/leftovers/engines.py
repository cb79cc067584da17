"""Which of the other engines decide anything in a cluster, in which version. Reads the Deployments
behind their webhooks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from policyd.cluster.listing import ApiReader, ApiReadError, pages, unread
from policyd.errors import Problem
from policyd.importers.all import CONSTRAINTS, KYVERNO, KYVERNO_CEL, MUTATORS
from policyd.json_types import JSONObject, object_in
from policyd.leftovers.services import Services, service_of
from policyd.policy.source.loaded_documents import Document

_KYVERNO, _GATEKEEPER = "Kyverno", "Gatekeeper"
# Beginnings of the names of an engine's webhook configurations for requests (Kyverno
# pkg/config/config.go); cleanup and TTL controllers of Kyverno have others.
_CONFIGURATIONS: Mapping[str, tuple[str, ...]] = {
    _KYVERNO: ("kyverno-resource-", "kyverno-policy-"),
    _GATEKEEPER: ("gatekeeper-",),
}
_GROUPS: Mapping[str, str] = {
    KYVERNO: _KYVERNO,
    KYVERNO_CEL: _KYVERNO,
    CONSTRAINTS: _GATEKEEPER,
    MUTATORS: _GATEKEEPER,
}
_NO_CLASSIC = (1, 20)  # the first version of Kyverno that executes nothing of kyverno.io
_FLAGGED = (1, 14)  # the first one whose exceptions are off by default
_VERSION = re.compile(r":v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class OtherEngine:
    """One engine. ``idle``: why it decides nothing; empty if it runs. ``version`` is 0.0 if it is
    not known; ``flags`` are those of its command line.
    """

    name: str
    idle: str = ""
    version: tuple[int, int] = (0, 0)
    flags: Mapping[str, str] = field(default_factory=dict)

    def unexecuted(self, document: Document) -> str:
        """Return why the engine does not execute a policy; empty if it does."""
        if self.idle or document.group != KYVERNO or self.version < _NO_CLASSIC:
            return self.idle
        version = ".".join(map(str, self.version))
        return f"Kyverno {version} executes no {document.kind} of {KYVERNO}"

    def unread(self, exception: Document) -> str:
        """Return why the engine does not read an exception; empty if it does, and if that is not
        known.
        """
        if self.version < _FLAGGED:
            return ""
        if self.flags.get("enablePolicyException") != "true":
            return "Kyverno runs without --enablePolicyException=true"
        namespace = self.flags.get("exceptionNamespace", "")
        if not namespace and exception.group == KYVERNO:
            return "Kyverno runs without --exceptionNamespace"
        if namespace in ("", "*", exception.namespace):
            return ""
        return f"Kyverno reads exceptions of the namespace {namespace} (--exceptionNamespace)"


def engines(
    configurations: Sequence[JSONObject], services: Services, reader: ApiReader
) -> dict[str, OtherEngine]:
    """Return the engine of each API group of policies."""
    found = {
        name: _engine(name, [*_webhooks(configurations, prefixes)], services, reader)
        for name, prefixes in _CONFIGURATIONS.items()
    }
    return {group: found[name] for group, name in _GROUPS.items()}


def _webhooks(
    configurations: Iterable[JSONObject], prefixes: tuple[str, ...]
) -> Iterator[JSONObject]:
    for each in configurations:
        if str(each["metadata"]["name"]).startswith(prefixes):
            yield from each.get("webhooks") or ()


def _engine(
    name: str, webhooks: Sequence[JSONObject], services: Services, reader: ApiReader
) -> OtherEngine:
    called = [*dict.fromkeys(map(service_of, webhooks))]
    if not called:
        return OtherEngine(name, f"no webhook of {name} is registered")
    faults = [services.fault(*each) if each else "" for each in called]
    if all(faults):
        return OtherEngine(name, f"{name} does not run: {faults[0]}")
    for namespace, service in filter(None, called if name == _KYVERNO else ()):
        selector = services.selector(namespace, service)
        for container in _containers(reader, namespace, selector, services.unread):
            version = _VERSION.search(str(container.get("image")))
            if container.get("name") == "kyverno" and version:
                number = (int(version[1]), int(version[2]))
                return OtherEngine(name, "", number, _flags(container.get("args") or ()))
    return OtherEngine(name)


def _containers(
    reader: ApiReader, namespace: str, selector: JSONObject, problems: list[Problem]
) -> Iterator[JSONObject]:
    """Yield the containers of the Deployments whose Pods a Service selects."""
    if not selector:
        return
    try:
        for page in pages(reader, f"/apis/apps/v1/namespaces/{namespace}/deployments"):
            for each in page.items:
                labels = object_in(each, "spec", "template", "metadata", "labels")
                if selector.items() <= labels.items():
                    yield from object_in(each, "spec", "template", "spec").get("containers") or ()
    except ApiReadError as error:
        what = "list deployments.apps"
        problems.append(unread(f"{what} in {namespace}", error, what))


def _flags(arguments: Iterable[str]) -> dict[str, str]:
    pairs = (each.lstrip("-").partition("=") for each in arguments)
    return {name: value or "true" for name, _, value in pairs}
