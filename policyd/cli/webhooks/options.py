"""The options of the commands about configurations. Renders nothing."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.cli.shared.kubeconfig import Kubeconfig, kubeconfig_options
from policyd.cli.shared.output import within
from policyd.cli.shared.policy_options import policies_option
from policyd.cli.shared.settings import AddOption, ExistingPath, OptionValue, grouped, option
from policyd.errors import ConfigError, file_errors
from policyd.option_values import service_port
from policyd.placement.placement import MODES, PlacementMode
from policyd.policy.source.loaded_documents import Document
from policyd.webhooks.configuration_paths import RESOURCES
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress

# The name of a Service in DNS, which begins with NAME.NAMESPACE.
_DNS_NAME = re.compile(
    r"(?:(?P<given>[-a-z0-9]+)/)?(?P<name>[-a-z0-9]+)\.(?P<namespace>[-a-z0-9]+)"
    r"(?:\.svc(?:\.[-.a-z0-9]*)?)?(?P<port>(?::\d+)?)"
)
_DEFAULT_SERVICE = "policyd/policyd:443"

VERBOSE = option(
    "-v, --verbose", "Also print the rules by which policies are reached, and what else differs."
)
FORCE = option(
    "--force-conflicts",
    "Take fields from other managers, such as kubectl. Without it such a field is an error.",
    to="force",
)


_PRINTED = (
    "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml prints them"
)


_CONFIGURATIONS = ExistingPath(
    f"Name a file or directory of webhook configurations: {_PRINTED}.", allow_dash=True
)


def configurations_among(documents: Iterable[Document], files: Iterable[Path]) -> list[Document]:
    """Return the webhook configurations in files; raises ConfigError if there are none."""
    found = [each for each in documents if each.kind in RESOURCES]
    if not found:
        raise ConfigError(f"no webhook configurations {within(files)}\n  hint: {_PRINTED}")
    return found


def files_option(contents: str) -> AddOption:
    """``-f``, the argument ``files``: where ``contents`` are read from."""
    return option(
        "-f, --filename",
        f"Read {contents} from this file or directory; - is standard input. May be repeated.",
        to="files",
        multiple=True,
        required=True,
        type=_CONFIGURATIONS,
    )


def _service(text: str) -> ServiceAddress:
    """Parse a Service with its namespace, and a port if it is not 443; raises ValueError."""
    namespace, _, service = text.partition("/")
    try:
        found = service_port(service)
        # The name of a namespace has the same form.
        return ServiceAddress(service_port(f"{namespace}:").name, found.name, found.port)
    except ValueError:
        error = ValueError(SERVICE.name)
        if meant := _DNS_NAME.fullmatch(text):
            within = meant["given"] or meant["namespace"]
            error.add_note(f"write {within}/{meant['name']}{meant['port']}")
        raise error from None


SERVICE = OptionValue("NAMESPACE/NAME[:PORT]", _service)


def _render_options(
    *,
    name: str,
    service: ServiceAddress,
    url: str,
    ca_file: Path | None,
    namespace: str | None,
    excluded: tuple[str, ...],
    timeout: int,
    policy_configmaps: str,
) -> RenderOptions:
    return RenderOptions(
        name=name,
        service=None if url else service,
        url=url,
        ca_bundle=ca_bundle(ca_file),
        namespace=service.namespace if namespace is None else namespace,
        excluded_namespaces=excluded,
        timeout=timeout,
        policy_configmaps=policy_configmaps,
    )


def ca_bundle(file: Path | None) -> bytes:
    """Return the certificates in a file; raises ConfigError if there are none."""
    if file is None:
        return b""
    with file_errors(file):
        data = file.read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise ConfigError(f"{file}: expected certificates in PEM form, found none")
    return data


NAME = option("--name NAME", "Set the name of both configurations.", default="policyd")
_OPTIONS = (
    NAME,
    option("--service", "Call policyd by this Service.", type=SERVICE, default=_DEFAULT_SERVICE),
    option(
        "--url URL",
        "Call policyd by this URL, such as https://10.0.0.7:8443, instead of a Service.",
        default="",
    ),
    option(
        "--ca-file FILE",
        "Trust these CA certificates (PEM). Without it, caBundle is left to others, such as "
        "cert-manager.",
    ),
    option(
        "-n, --namespace NAME",
        "Leave out this namespace, policyd's own: its Pods must start while policyd does "
        "not answer.  [default: the namespace of the Service]",
    ),
    option(
        "--exclude-namespace NAME...",
        "Leave out this namespace; may be repeated.",
        to="excluded",
        default=("kube-system",),
    ),
    option(
        "--timeout NUMBER",
        "Let the API server wait this many seconds for policyd; longer where a policy "
        "has a longer timeoutSeconds.",
        type=click.IntRange(1, 30),
        default=10,
    ),
    option(
        "--policy-configmaps SELECTOR",
        "Add a webhook that checks edits of the ConfigMaps with these labels in policyd's "
        "namespace, such as policyd.dev/policies=true.",
        default="",
    ),
)
render_options = grouped("options", _render_options, _OPTIONS)


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """The values of ``webhook_options``: the policies of these paths, how they are rendered, and
    the cluster. ``mode`` None: the API server enforces none of them.
    """

    paths: tuple[Path, ...]
    options: RenderOptions
    mode: PlacementMode | None
    kube: Kubeconfig


IN_TREE = option(
    "--in-tree",
    "Let the API server enforce policies itself: auto where that costs less, only all of them "
    "or fail, never removes placed policies. Without this option no placed document is read or "
    "written.",
    to="mode",
    type=click.Choice(MODES),
)
webhook_options = grouped(
    "given", WebhookOptions, (policies_option(), render_options, IN_TREE, kubeconfig_options)
)
