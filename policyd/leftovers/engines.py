"""Finds the other engines that make decisions in a cluster, and their versions. Reads the
Deployments behind their webhooks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from policyd.cluster.listing import ApiReader, ApiReadError, pages, unread
from policyd.importers.all import CONSTRAINTS, KYVERNO, KYVERNO_CEL, MUTATORS
from policyd.json_types import JSONObject, object_in
from policyd.leftovers.services import Services, service_of
from policyd.policy.source.loaded_documents import Document

_NO_CLASSIC = (1, 20)  # the first version of Kyverno that executes nothing of kyverno.io
_FLAGGED = (1, 14)  # the first one whose exceptions are off by default
# Prefixes of the names of webhook configurations for requests (Kyverno pkg/config/config.go).
_KYVERNO, _GATEKEEPER = ("kyverno-resource-", "kyverno-policy-"), ("gatekeeper-",)


@dataclass(frozen=True, slots=True)
class OtherEngine:
    """One engine. ``idle``: why it decides nothing; empty if it runs. ``version`` is 0.0 if not
    known; ``flags`` are its command line's.
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
        """Return why the engine does not read an exception; empty if it may."""
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
    kyverno = _engine("Kyverno", configurations, _KYVERNO, services)
    if not kyverno.idle:
        for image, flags in _containers(configurations, services, reader):
            kyverno = OtherEngine(kyverno.name, "", _version(image), flags)
    gatekeeper = _engine("Gatekeeper", configurations, _GATEKEEPER, services)
    of_gatekeeper = dict.fromkeys((CONSTRAINTS, MUTATORS), gatekeeper)
    return {KYVERNO: kyverno, KYVERNO_CEL: kyverno, **of_gatekeeper}


def _engine(
    name: str, configurations: Sequence[JSONObject], prefixes: tuple[str, ...], services: Services
) -> OtherEngine:
    called = [*_called(configurations, prefixes)]
    faults = [services.fault(*each) if each else "" for each in called]
    if called and not all(faults):
        return OtherEngine(name)
    stopped = f"{name} does not run: {faults[0]}" if faults else ""
    return OtherEngine(name, stopped or f"no webhook of {name} is registered")


def _called(
    configurations: Sequence[JSONObject], prefixes: tuple[str, ...]
) -> dict[tuple[str, str] | None, None]:
    """Return the Services that an engine's webhooks call, each once; None represents URLs."""
    named = (each for each in configurations if each["metadata"]["name"].startswith(prefixes))
    return dict.fromkeys(service_of(hook) for each in named for hook in each.get("webhooks") or ())


def _containers(
    configurations: Sequence[JSONObject], services: Services, reader: ApiReader
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield image and flags of the containers in the Deployments behind Kyverno's webhooks."""
    for namespace, name in filter(None, _called(configurations, _KYVERNO)):
        selector = services.selector(namespace, name)
        path = f"apis/apps/v1/namespaces/{namespace}/deployments"
        try:
            found = [each for page in pages(reader, path) for each in page.items]
        except ApiReadError as error:
            what = "list deployments.apps"
            services.unread.append(unread(f"{what} in {namespace}", error, what))
            continue
        for pods in (object_in(each, "spec", "template") for each in found):
            if selector and selector.items() <= object_in(pods, "metadata", "labels").items():
                for each in object_in(pods, "spec").get("containers") or ():
                    if each.get("name") == "kyverno":
                        pairs = (arg.lstrip("-").partition("=") for arg in each.get("args") or ())
                        flags = {flag: value or "true" for flag, _, value in pairs}
                        yield str(each.get("image")), flags


def _version(image: str) -> tuple[int, int]:
    tag = image.partition("@")[0].rpartition(":")[2].removeprefix("v")
    major, minor, *_ = [*tag.split("."), "", ""]
    numbers = major.isdecimal() and minor.isdecimal()
    return (int(major), int(minor)) if numbers else (0, 0)
