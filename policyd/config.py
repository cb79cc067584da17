"""The settings of the server, in one frozen object.

Each field is a flag (``--max-in-flight``), an environment variable (``POLICYD_MAX_IN_FLIGHT``) and
a key of the config file (``maxInFlight``). Flags override the environment, which overrides the
file. ``cli/serve.py`` passes the flags and the content of the file.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from policyd import option_values as values
from policyd import versions
from policyd.errors import ConfigError
from policyd.option_values import Address, ConfigMapName, ServicePort
from policyd.setting_fields import entries_by_field, read_value, setting
from policyd.versions import NEWEST, SPAN, KubernetesVersion

PREFIX = "POLICYD_"

# Kubernetes sets POLICYD_PORT, POLICYD_SERVICE_HOST and others in Pods of the namespace of a
# Service "policyd": no setting may have these names.
RESERVED = frozenset({"port", "service_host", "service_port"})

# Limits of single connections, which only policyd's own server has.
_OF_OWN_SERVER = ("max_connections", "head_timeout", "write_timeout")


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server runs. Times are seconds, sizes are bytes; ``doc`` of a field is its help."""

    policies: tuple[Path, ...] = setting(
        (), Path, "Load policies from this file or directory; may be repeated.", many=True
    )
    allow_empty: bool = setting(
        False, values.switch, "Start and report ready even if there are no policies."
    )
    policy_configmaps: str = setting(
        "",
        values.label_selector,
        "Also load policies from the ConfigMaps with these labels in --namespace, and follow "
        "their changes.",
    )
    exception_configmaps: str = setting(
        "",
        values.label_selector,
        "Load PolicyExceptions from the ConfigMaps with these labels in --exception-namespaces; "
        "each exempts only requests of its own namespace.",
    )
    exception_namespaces: tuple[str, ...] = setting(
        (),
        values.namespace_pattern,
        "Read --exception-configmaps of this namespace; * and ? are wildcards; may be repeated.",
        many=True,
    )
    last_good: Path | ConfigMapName | None = setting(
        None,
        values.file_or_config_map,
        "Keep the last policies that loaded without an error in this file, or in this ConfigMap of "
        "--namespace, and serve them if the policies are broken at start.",
    )
    watch_grace: float = setting(
        300.0,
        values.positive_duration,
        "Report not ready if policyd cannot watch its files for this long.",
    )
    kubernetes_version: KubernetesVersion | None = setting(
        None,
        versions.supported,
        f"Evaluate policies as this Kubernetes version does ({SPAN}). Defaults to the version of "
        f"the connected cluster, else {NEWEST}.",
    )
    bind: Address = setting(
        Address("0.0.0.0", 8443),  # noqa: S104 - reviews come from other hosts
        values.address,
        "Listen for AdmissionReviews on this address, over TLS.",
    )
    admin_bind: Address = setting(
        Address("127.0.0.1", 8080),
        values.address,
        "Serve health checks and metrics on this address, over plain HTTP.",
    )
    admin_host: tuple[str, ...] = setting(
        (),
        str,
        "Also accept this name in the Host header of the admin port; may be repeated.",
        many=True,
    )
    admin_token_file: Path | None = setting(
        None, values.file, "Require the bearer token in this file for /metrics and /policies."
    )
    tls_cert: Path | None = setting(
        None,
        values.file,
        "Serve with this PEM certificate chain; it is reloaded when the file changes.",
    )
    tls_key: Path | None = setting(
        None, values.file, "Use this PEM private key of the certificate; it is also reloaded."
    )
    self_signed: bool = setting(
        False, values.switch, "Generate a certificate for localhost at start, for development."
    )
    client_ca: Path | None = setting(
        None, values.file, "Require client certificates signed by the CA in this PEM file."
    )
    client_name: tuple[str, ...] = setting(
        (), str, "Accept only client certificates with this name; may be repeated.", many=True
    )
    require_api_server_token: bool = setting(
        False,
        values.switch,
        "Experimental: answer only reviews that have a token of the API server, bound to this "
        "webhook (KEP-6060, Kubernetes 1.37). Needs the extra tokens.",
    )
    token_audience: tuple[str, ...] = setting(
        (),
        values.https_url,
        "Accept tokens for this address of policyd, without a path; may be repeated. Defaults to "
        "--webhook-url, or to --webhook-service in --namespace.",
        many=True,
    )
    token_configuration: tuple[str, ...] = setting(
        (),
        values.name_and_uid,
        "Accept tokens bound to the webhook configurations with this name, or as NAME/UID only to "
        "this one; may be repeated. Defaults to --webhook-name.",
        many=True,
    )
    token_keys: Path | None = setting(
        None,
        values.file,
        "Verify tokens with the public keys in this file, a JSON Web Key Set, instead of those "
        "that the cluster publishes; it is reloaded when it changes.",
    )
    token_issuer: str = setting(
        "",
        str,
        "Accept tokens of this issuer. Defaults to the one that the cluster publishes.",
    )
    timeout: float = setting(
        10.0, values.positive_duration, "Answer within this time, even if the request allows more."
    )
    max_body_bytes: int = setting(
        16 * 2**20,
        values.size,
        "Reject larger reviews. The default fits two escaped objects of 3 MiB.",
    )
    workers: int = setting(1, values.count, "Run NUMBER processes, which share the limits below.")
    max_in_flight: int = setting(
        256, values.count, "Answer 503 with Retry-After above this number of concurrent requests."
    )
    max_in_flight_bytes: int = setting(
        160 * 2**20,
        values.size,
        "Limit the memory for reviews being read and answered; answer 503 above the limit.",
    )
    max_read_bytes: int = setting(
        256 * 2**20,
        values.size,
        "Limit the memory for objects that policies read; a kind that exceeds it is unavailable.",
    )
    max_connections: int = setting(
        512, values.count, "Limit open connections; at the limit close the longest idle one."
    )
    handshake_timeout: float = setting(
        5.0, values.positive_duration, "Disconnect clients whose TLS handshake takes longer."
    )
    head_timeout: float = setting(
        5.0, values.positive_duration, "Disconnect clients whose request headers take longer."
    )
    body_timeout: float = setting(
        5.0, values.positive_duration, "Answer 408 if the body of a request takes longer to arrive."
    )
    write_timeout: float = setting(
        10.0, values.positive_duration, "Disconnect clients that take longer to read an answer."
    )
    grace: float = setting(
        25.0,
        values.positive_duration,
        "Exit within this time after SIGTERM; keep it below terminationGracePeriodSeconds.",
    )
    drain: float = setting(
        5.0,
        values.duration,
        "After SIGTERM keep listening until no request has arrived for this long.",
    )
    keep_alive: float = setting(
        120.0,
        values.positive_duration,
        "Close connections that are idle for longer. API servers keep them for 90 s.",
    )
    server: str = setting(
        "policyd",
        values.http_server,
        "Read HTTP with policyd's own server, or with hypercorn, which also speaks HTTP/2 but does "
        "not limit connections.",
    )
    cluster: bool = setting(
        False,
        values.switch,
        "Look up authorizer checks, namespaces, params and CRDs in the Pod's own cluster.",
    )
    kubeconfig: Path | None = setting(
        None, values.file, "Look them up in the cluster of this kubeconfig file's current context."
    )
    namespace: str = setting(
        "",
        str,
        "Work in this namespace, policyd's own. Defaults to the namespace of the Pod.",
    )
    register: bool = setting(
        False,
        values.switch,
        "Create the webhook configurations when ready, and keep them in step with the policies.",
    )
    in_tree: str = setting(
        "",
        values.placement_mode,
        "Let the API server enforce policies itself: auto where that costs less, only all of them, "
        "never removes placed policies. Without --register only follow existing placements.",
    )
    webhook_name: str = setting(
        "policyd", values.object_name, "Give both configurations this name."
    )
    webhook_service: ServicePort = setting(
        ServicePort("policyd", 443), values.service_port, "Register this Service of --namespace."
    )
    webhook_url: str = setting(
        "",
        values.https_url,
        "Register this URL instead of a Service, for a server outside of the cluster.",
    )
    manage_certificates: bool = setting(
        False,
        values.switch,
        "Issue a CA and a serving certificate, keep them in a Secret, and rotate them.",
    )
    certificate_secret: str = setting(
        "policyd-tls", values.object_name, "Keep the managed certificates in this Secret."
    )
    certificate_lifetime: float = setting(
        90 * 86_400.0,
        values.lifetime,
        "Issue serving certificates with this lifetime, and a CA with ten times that; each is "
        "renewed after two thirds of its life.",
    )
    events: bool = setting(
        False, values.switch, "Report denials as Events in the namespaces of the objects."
    )
    capture: Path | None = setting(
        None, values.directory, "Record reviews and answers in this directory, for policyd replay."
    )
    capture_max_bytes: int = setting(
        256 * 2**20, values.size, "Limit the size of recorded reviews; delete the oldest first."
    )
    trace_sample: float | str | None = setting(
        None,
        values.trace_sample,
        "Trace this share of requests (0 to 1), and those that a tracing API server samples; "
        "parent: only the latter. 0, the default, is off. Needs the extra otel.",
    )
    otlp_endpoint: str = setting(
        "",
        values.http_url,
        "Send traces to this OpenTelemetry collector, over OTLP/HTTP. Defaults to "
        "OTEL_EXPORTER_OTLP_ENDPOINT.",
    )
    log_format: str = setting(
        "",
        values.log_format,
        "Log one JSON object per line, or plain text. Defaults to text if standard error is a "
        "terminal, else to json.",
    )

    @property
    def longest_drain(self) -> float:
        """The longest time with open ports after SIGTERM. It leaves requests their ``--timeout``,
        or half of the grace period if that is less.
        """
        return self.grace - min(self.timeout, self.grace / 2)

    def __post_init__(self) -> None:
        """Reject combinations that cannot work."""
        for wrong, message in (*self._contradictions(), *self._without_cluster()):
            if wrong:
                raise ConfigError(message)

    def _contradictions(self) -> Iterator[tuple[object, str]]:
        """Yield each condition that must not be true, and its message."""
        pair = "must be set together; one of them is missing"
        yield (
            self.self_signed and (self.tls_cert or self.tls_key),
            "--self-signed cannot be used with --tls-cert and --tls-key",
        )
        yield bool(self.tls_cert) != bool(self.tls_key), f"--tls-cert and --tls-key {pair}"
        yield (
            self.manage_certificates and (self.self_signed or self.tls_cert),
            "--manage-certificates cannot be used with "
            f"{'--self-signed' if self.self_signed else '--tls-cert'}",
        )
        yield (
            bool(self.exception_configmaps) != bool(self.exception_namespaces),
            f"--exception-configmaps and --exception-namespaces {pair}",
        )
        yield (
            self.otlp_endpoint and self.trace_sample is None,
            "--otlp-endpoint needs --trace-sample",
        )
        yield (
            self.client_name and not self.client_ca,
            "--client-name needs --client-ca to verify client certificates",
        )
        required = self.require_api_server_token
        for given, flag in (
            (self.token_audience, "--token-audience"),
            (self.token_configuration, "--token-configuration"),
            (self.token_keys, "--token-keys"),
            (self.token_issuer, "--token-issuer"),
        ):
            yield given and not required, f"{flag} needs --require-api-server-token"
        yield (
            self.token_keys and not self.token_issuer,
            "--token-keys needs --token-issuer: a file of keys does not name the issuer",
        )

    def _without_cluster(self) -> Iterator[tuple[object, str]]:
        """Yield the same for flags that need a cluster and, mostly, policyd's own namespace."""
        in_config_map = isinstance(self.last_good, ConfigMapName)
        connected = self.cluster or self.kubeconfig
        for needed, flag, in_namespace in (
            (self.register, "--register", True),
            (self.in_tree, "--in-tree", True),
            (self.manage_certificates, "--manage-certificates", True),
            (self.policy_configmaps, "--policy-configmaps", True),
            (in_config_map, f"--last-good {self.last_good}", True),
            (self.events, "--events", False),
            (
                self.require_api_server_token and not self.token_keys,
                "--require-api-server-token without --token-keys",
                False,
            ),
            (self.exception_configmaps, "--exception-configmaps", False),
        ):
            yield needed and not connected, f"{flag} needs --cluster or --kubeconfig"
            yield (
                needed and in_namespace and self.kubeconfig and not self.namespace,
                f"{flag} with --kubeconfig needs --namespace",
            )


def resolve(
    flags: Mapping[str, object],
    environment: Mapping[str, str] = os.environ,
    document: Mapping[str, object] | None = None,
    file: str = "",
    lines: Mapping[str, int] | None = None,
) -> Settings:
    """Settings from flags (by field name; None: not set), environment and a config file.

    ``document`` is the content of the config file; ``file`` and the ``lines`` of its keys are for
    messages. An unknown key is an error; an unknown ``POLICYD_*`` variable may be Kubernetes'.
    """
    by_field = entries_by_field(document or {}, file, lines or {}, Settings)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for each in fields(Settings):
        variable = PREFIX + each.name.upper()
        if flags.get(each.name) not in (None, ()):
            value, source = flags[each.name], "--" + each.name.replace("_", "-")
        elif environment.get(variable, "") != "":
            value, source = environment[variable], variable
        elif each.name in by_field:
            source, value = by_field[each.name]
        else:
            continue
        values[each.name] = read_value(value, source, each.metadata)
        sources[each.name] = source
    settings = Settings(**values)
    for name in _OF_OWN_SERVER if settings.server == "hypercorn" else ():
        if name in sources:
            raise ConfigError(
                f"{sources[name]} cannot be used with --server hypercorn, which has no such limit"
            )
    if "drain" in sources and settings.drain > settings.longest_drain:
        # The default is reduced instead: a user who shortens --grace need not know it.
        raise ConfigError(_longer_than_grace(settings, sources["drain"]))
    return settings


def _longer_than_grace(settings: Settings, source: str) -> str:
    drain, grace, most = settings.drain, settings.grace, settings.longest_drain
    enough = min(drain + settings.timeout, 2 * drain)
    return (
        f"{source}: expected at most {most:g}s, got {drain:g}s: the other {grace - most:g}s of "
        f"--grace are for requests under way; lower it, or set --grace to {enough:g}s or more"
    )
