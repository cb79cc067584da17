"""The options of the other product: its webhooks, and its reports. Sends no review."""

import base64
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.cli.shared.kubeconfig import Kubeconfig, kubeconfig_options
from policyd.cli.shared.manifests import is_namespace, read_manifests
from policyd.cli.shared.settings import grouped, option
from policyd.cli.webhooks.options import SERVICE, ca_bundle, configurations_among
from policyd.cli.webhooks.synchronizing import cluster, every
from policyd.comparison.audited import AuditReports
from policyd.comparison.sending import Reach, service_of
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.webhooks.calls import Hook, hooks_of
from policyd.webhooks.configuration_paths import API_VERSION, RESOURCES
from policyd.webhooks.rendering.options import ServiceAddress

_HTTPS = "https://"
_VALIDATING = "ValidatingWebhookConfiguration"
_ALL = {
    "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"],
}  # fmt: skip
_EXPECTED = (
    "--against: expected a file of webhook configurations, a URL like "
    "https://kyverno:9443/validate, or a Service like kyverno/kyverno-svc, got {!r}"
)


@dataclass(frozen=True, slots=True)
class OtherWebhooks:
    """The values of ``other_options``."""

    against: str
    ca_file: Path | None
    reach: Reach
    cluster: bool
    kube: Kubeconfig

    def reports(self, stack: ExitStack) -> AuditReports | None:
        """Return the reports in the cluster, which are read until the stack closes; None without
        --cluster.
        """
        if not self.cluster:
            return None
        return AuditReports(stack.enter_context(self.kube.reader()))

    def webhooks(self) -> tuple[list[Hook], list[JSONObject]]:
        """Return the webhooks, and the Namespaces of the file. Raises ConfigError."""
        if self.against.startswith(_HTTPS):
            return hooks_of([_configuration(self.against, ca_bundle(self.ca_file))]), []
        path = Path(self.against)
        if self.against == "-" or path.exists():
            documents = read_manifests([path]).required().documents
            found = configurations_among(documents, [path])
            named = [each.raw for each in documents if is_namespace(each)]
            return hooks_of([each.raw for each in found]), named
        try:
            service: ServiceAddress = SERVICE.convert(self.against, None, None)
        except click.BadParameter as error:
            _, line, hint = error.message.partition("\n")
            raise ConfigError(f"{_EXPECTED.format(self.against)}{line}{hint}") from None
        return self._of_service(service), []

    def _of_service(self, service: ServiceAddress) -> list[Hook]:
        """Return the webhooks of the cluster's configurations that call a Service."""
        with cluster(self.kube) as objects:
            found = [each for kind in RESOURCES for each in every(objects, kind)]
        hooks = [each for each in hooks_of(found) if service_of(each) == service]
        if not hooks:
            raise ConfigError(f"--against {self.against}: no webhook of the cluster calls it")
        return hooks


def _configuration(url: str, authorities: bytes) -> JSONObject:
    """Return a configuration by which a validating webhook gets every request."""
    client = {"url": url, "caBundle": base64.b64encode(authorities).decode()}
    hook = {"name": url, "sideEffects": "NoneOnDryRun", "clientConfig": client, "rules": [_ALL]}
    metadata = {"name": "against"}
    return {
        "apiVersion": API_VERSION, "kind": _VALIDATING, "metadata": metadata, "webhooks": [hook],
    }  # fmt: skip


def _other(
    *,
    against: str,
    ca_file: Path | None,
    cluster: bool,
    kube: Kubeconfig,
    timeout: float,
) -> OtherWebhooks:
    if against.lower().startswith("http://"):
        raise click.UsageError(f"--against {against}: a webhook is called over https only")
    if ca_file is not None and not against.startswith(_HTTPS):
        raise click.UsageError("--ca-file requires a URL for --against")
    reach = Reach(kube.file, kube.context, timeout)
    return OtherWebhooks(against, ca_file, reach, cluster, kube)


other_options = grouped(
    "other",
    _other,
    (
        option(
            "--against CONFIG|URL|SERVICE",
            "Compare with these webhooks: a file of webhook configurations (- is standard "
            "input), the https URL of a validating webhook, or a Service, NAMESPACE/NAME[:PORT], "
            "that the configurations of the cluster call.",
            required=True,
        ),
        option(
            "--ca-file FILE",
            "Trust these CA certificates (PEM) for a URL.  [default: the system's]",
        ),
        option("--cluster", "Read what Kyverno only audits from its reports in the cluster."),
        kubeconfig_options,
        option("--timeout DURATION", "Wait this long for each answer.", default="10s"),
    ),
)
