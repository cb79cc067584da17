"""Settings: parsing of strings, and precedence of sources."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from policyd import option_values
from policyd.config import RESERVED, Settings, resolve
from policyd.errors import ConfigError
from policyd.option_values import Address, ConfigMapName, ServicePort

DURATIONS = [
    ("10s", 10.0),
    ("500ms", 0.5),
    ("1m30s", 90.0),
    ("1.5h", 5400.0),
    ("100us", 1e-4),
    ("100µs", 1e-4),
    ("7", 7.0),
    ("0.25", 0.25),
    ("0s", 0.0),
    (".5s", 0.5),
]


@pytest.mark.parametrize(("text", "seconds"), DURATIONS)
def test_duration(text: str, seconds: float) -> None:
    assert option_values.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "10 s", "1d", "-1s", "1s2", "١s", "1e3s"])
def test_what_is_no_go_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a duration like"):
        option_values.duration(text)


SIZES = [
    ("1", 1),
    ("16MiB", 2**24),
    ("16Mi", 2**24),
    ("2M", 2_000_000),
    ("3 KiB", 3072),
    ("1g", 10**9),
]


@pytest.mark.parametrize(("text", "size"), SIZES)
def test_size(text: str, size: int) -> None:
    assert option_values.size(text) == size


ADDRESSES = [
    ("0.0.0.0:8443", Address("0.0.0.0", 8443)),
    (":0", Address("0.0.0.0", 0)),
    ("[::]:8443", Address("::", 8443)),
    ("localhost:1", Address("localhost", 1)),
]


@pytest.mark.parametrize(("text", "address"), ADDRESSES)
def test_address(text: str, address: Address) -> None:
    assert option_values.address(text) == address


def test_a_config_map_is_not_a_file() -> None:
    assert option_values.file_or_config_map("configmap/a.b") == ConfigMapName("a.b")
    assert str(ConfigMapName("a")) == "configmap/a"
    assert option_values.file_or_config_map("./configmap/a") == Path("configmap/a")


SELECTORS: list[tuple[str, list[tuple[str, str, list[str]]]]] = [
    ("policyd.dev/policies=true", [("policyd.dev/policies", "In", ["true"])]),
    ("a==b, c != d", [("a", "In", ["b"]), ("c", "NotIn", ["d"])]),
    ("a in (b, c),d notin(e)", [("a", "In", ["b", "c"]), ("d", "NotIn", ["e"])]),
    ("a,! b,in=x", [("a", "Exists", []), ("b", "DoesNotExist", []), ("in", "In", ["x"])]),
    ("a=", [("a", "In", [""])]),
]


@pytest.mark.parametrize(("text", "terms"), SELECTORS)
def test_a_selector_is_read_as_kubectl_reads_it(
    text: str, terms: list[tuple[str, str, list[str]]]
) -> None:
    found = option_values.selector_terms(text)["matchExpressions"]
    assert [(e["key"], e["operator"], e.get("values", [])) for e in found] == terms


@pytest.mark.parametrize(
    "text", ["", ",", "a in", "a in b", "a=b c", "a=b,", "a>1", "!a=b", "a(b)"]
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a label selector like"):
        option_values.label_selector(text)


def test_a_service_has_a_port_of_its_own() -> None:
    assert option_values.service_port("policyd") == ServicePort("policyd", 443)
    assert option_values.service_port("a-b:8443") == ServicePort("a-b", 8443)


def test_a_url_ends_without_a_slash() -> None:
    assert (
        option_values.https_url("https://policyd.example:8443/a/")
        == "https://policyd.example:8443/a"
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"token_configuration": ("a/",)}, "--token-configuration: expected a name, or NAME/UID"),
    ({"bind": "8443"}, "--bind: expected HOST:PORT like"),
    ({"bind": "::1:8443"}, "--bind: expected HOST:PORT like"),
    ({"bind": "h:70000"}, "--bind: expected a port of at most 65535"),
    ({"timeout": "soon"}, "--timeout: expected a duration like 10s, 1m30s or 500ms, got 'soon'"),
    ({"timeout": "0s"}, "--timeout: expected a duration above zero"),
    ({"max_in_flight": "0"}, "--max-in-flight: expected a whole number above zero"),
    ({"max_body_bytes": "much"}, "--max-body-bytes: expected a size like 16MiB"),
    ({"events": "maybe"}, "--events: expected true or false"),
    ({"server": "uvicorn"}, "--server: expected policyd or hypercorn"),
    ({"log_format": "xml"}, "--log-format: expected json or text"),
    ({"self_signed": True, "tls_cert": "a"}, "--self-signed cannot be used with"),
    ({"tls_cert": "a"}, "--tls-cert and --tls-key must be set together"),
    ({"policy_configmaps": "a in b"}, "--policy-configmaps: expected a label selector like"),
    ({"policy_configmaps": "a"}, "--policy-configmaps needs --cluster or --kubeconfig"),
    (
        {"policy_configmaps": "a", "kubeconfig": "f"},
        "--policy-configmaps with --kubeconfig needs --namespace",
    ),
    (
        {"exception_configmaps": "a", "cluster": True},
        "--exception-configmaps and --exception-namespaces must be set together",
    ),
    (
        {"exception_namespaces": ("a",), "cluster": True},
        "--exception-configmaps and --exception-namespaces must be set together",
    ),
    (
        {"exception_configmaps": "a", "exception_namespaces": ("team-*",)},
        "--exception-configmaps needs --cluster or --kubeconfig",
    ),
    (
        {"exception_configmaps": "a", "exception_namespaces": ("team_a",)},
        "--exception-namespaces: expected a namespace or a pattern like team-*",
    ),
    ({"last_good": "configmap/A"}, "--last-good: expected a file, or configmap/NAME"),
    ({"last_good": "configmap/a"}, "--last-good configmap/a needs --cluster or --kubeconfig"),
    ({"client_name": ("x",)}, "--client-name needs --client-ca"),
    ({"register": True}, "--register needs --cluster or --kubeconfig"),
    ({"manage_certificates": True}, "--manage-certificates needs --cluster or --kubeconfig"),
    ({"events": True}, "--events needs --cluster or --kubeconfig"),
    (
        {"register": True, "kubeconfig": "f"},
        "--register with --kubeconfig needs --namespace",
    ),
    (
        {"manage_certificates": True, "self_signed": True},
        "--manage-certificates cannot be used with --self-signed",
    ),
    (
        {"manage_certificates": True, "tls_cert": "a", "tls_key": "b"},
        "--manage-certificates cannot be used with --tls-cert",
    ),
    ({"webhook_name": "A"}, "--webhook-name: expected a name of lower case letters"),
    ({"webhook_service": "a:0"}, "--webhook-service: expected NAME or NAME:PORT"),
    ({"webhook_service": "a.b"}, "--webhook-service: expected NAME or NAME:PORT"),
    ({"webhook_url": "http://a"}, "--webhook-url: expected a URL like https://"),
    ({"webhook_url": "https://a?b"}, "--webhook-url: expected a URL like https://"),
    ({"certificate_lifetime": "5s"}, "--certificate-lifetime: expected a duration of at least 6s"),
    (
        {"drain": "16s"},
        "--drain: expected at most 15s, got 16s: the other 10s of --grace are for requests under "
        "way; lower it, or set --grace to 26s or more",
    ),
    (
        {"drain": "3s", "grace": "4s"},
        "--drain: expected at most 2s, got 3s: the other 2s of --grace are for requests under way; "
        "lower it, or set --grace to 6s or more",
    ),
]


@pytest.mark.parametrize(("flags", "message"), WRONG)
def test_wrong_setting_says_where_and_what(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(flags, {})
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_flag_over_environment_over_file_over_default() -> None:
    file: dict[str, object] = {"timeout": "1s", "maxInFlight": 1, "grace": 1, "selfSigned": True}
    environment = {"POLICYD_TIMEOUT": "2s", "POLICYD_MAX_IN_FLIGHT": "2", "POLICYD_SELF_SIGNED": ""}
    settings = resolve({"timeout": "3s", "grace": None}, environment, file, "f.yaml")
    assert (settings.timeout, settings.max_in_flight, settings.grace) == (3.0, 2, 1.0)
    assert settings.self_signed is True
    assert settings.keep_alive == 120.0


@pytest.mark.parametrize("name", ["max_connections", "head_timeout", "write_timeout"])
def test_bounds_that_hypercorn_lacks_are_refused_wherever_they_are_set(name: str) -> None:
    """Also if they are set to their defaults, which would not hold either."""
    default = str(getattr(resolve({}, {}), name))
    variable, flag = f"POLICYD_{name.upper()}", "--" + name.replace("_", "-")
    for flags, environment, file, source in (
        ({name: default}, {}, {}, flag),
        ({}, {variable: default}, {}, variable),
        ({}, {}, {name: default}, f"f.yaml: {name}"),
    ):
        resolve(flags, environment, file, "f.yaml")
        with pytest.raises(ConfigError, match=f"^{source} cannot be used with --server hypercorn"):
            resolve({**flags, "server": "hypercorn"}, environment, file, "f.yaml")


@pytest.mark.parametrize(("drain", "flags"), [("15s", {}), ("16s", {"grace": "26s"})])
def test_the_longest_drain_is_accepted(drain: str, flags: dict[str, Any]) -> None:
    assert resolve({"drain": drain, **flags}, {}).longest_drain == float(drain[:-1])


def test_a_short_grace_period_shortens_the_default_drain() -> None:
    assert resolve({"grace": "4s"}, {}).longest_drain == 2.0


def test_lists_come_from_flags_files_and_commas() -> None:
    assert resolve({"policies": ("a", "b")}, {}).policies == (Path("a"), Path("b"))
    assert resolve({"policies": ()}, {"POLICYD_POLICIES": "a,b"}).policies == (Path("a"), Path("b"))
    assert resolve({}, {}, {"policies": ["a"]}, "f").policies == (Path("a"),)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"timeOut": "1s", "time-out": "2s"}, "'timeOut' and 'time-out' are the same setting"),
        ({"nothing": "1s"}, "f.yaml: unknown key 'nothing'; expected one of adminBind, adminHost"),
        ({"tiemout": "1s"}, "f.yaml: unknown key 'tiemout'; did you mean timeout?"),
        ({"maxInflght": 3}, "f.yaml: unknown key 'maxInflght'; did you mean maxInFlight?"),
        (
            {"kubernetesVersion": 1.3},
            "f.yaml: kubernetesVersion: expected a Kubernetes version, 1.30 to 1.38, got 1.3; YAML "
            "reads it as a number: put it in quotes",
        ),
        ({"namespace": True}, "expected a string, got True; YAML reads it as a boolean: put it in"),
        ({"webhookName": 1.1}, "expected a string, got 1.1; YAML reads it as a number: put it in"),
        ({"timeout": ["1s"]}, "f.yaml: timeout: expected a string or a number"),
        ({"policies": 7}, "f.yaml: policies: expected a list, got 7"),
    ],
)
def test_wrong_file_is_an_error(document: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({}, {}, document, "f.yaml")
    assert message in str(caught.value)


def test_what_kubernetes_sets_for_a_service_is_ignored() -> None:
    environment = {"POLICYD_PORT": "tcp://10.0.0.1:443", "POLICYD_SERVICE_HOST": "10.0.0.1"}
    assert resolve({}, environment) == Settings()
    assert RESERVED.isdisjoint(each.name for each in fields(Settings))


def test_every_setting_says_what_it_is() -> None:
    for each in fields(Settings):
        assert len(each.metadata["doc"]) > 20, each.name
