"""Engines as they are installed in a cluster: Services, Deployments, webhook configurations. No
tests here.
"""

from dataclasses import dataclass
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.policies import rule
from tests.cluster.contents import Contents

VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SERVICES, SLICES = "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices"
DEPLOYMENTS = "/apis/apps/v1/deployments"
EXCEPTION_FLAGS = ("--enablePolicyException=true", "--exceptionNamespace=*")


def webhook(name: str, service: str, policy: str = "Fail", **more: Any) -> JSONObject:
    """A webhook that calls a Service, NAMESPACE/NAME."""
    namespace, _, of_service = service.partition("/")
    return {
        "name": name,
        "clientConfig": {"service": {"namespace": namespace, "name": of_service}},
        "failurePolicy": policy,
        "rules": [rule("pods", operations=["CREATE", "UPDATE"])],
        **more,
    }


def add_service(contents: Contents, service: str, *, ready: bool = True) -> None:
    namespace, _, name = service.partition("/")
    contents.add(SERVICES, name, namespace, spec={"selector": {"app": name}})
    contents.add(SLICES, name, namespace, endpoints=[{"conditions": {"ready": ready}}])


@dataclass
class Kyverno:
    """Kyverno in a cluster."""

    contents: Contents
    service: str = "kyverno/kyverno-svc"

    def install(self, version: str, *flags: str, ready: bool = True) -> None:
        """Install a version, in place of another one."""
        self.remove()
        add_service(self.contents, self.service, ready=ready)
        container = {"name": "kyverno", "image": f"reg.kyverno.io/kyverno/kyverno:{version}"}
        pods = {"containers": [{**container, "args": list(flags)}]}
        template = {"metadata": {"labels": {"app": "kyverno-svc", "x": "y"}}, "spec": pods}
        self.contents.add(DEPLOYMENTS, "kyverno", "kyverno", spec={"template": template})
        self.contents.objects[VALIDATING] = []
        hook = webhook("validate.kyverno.svc-fail", self.service)
        self.contents.add(VALIDATING, "kyverno-resource-validating-webhook-cfg", webhooks=[hook])

    def remove(self) -> None:
        """Remove it, but for its webhook configurations."""
        for path in (SERVICES, SLICES, DEPLOYMENTS):
            self.contents.objects.pop(path, None)
