"""``policyd webhooks render`` and ``check``, as in a pipeline without a cluster."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.errors import ConfigError, PolicyError
from policyd.json_types import JSONObject
from tests.builders.policies import PODS, labelling, policy, rule
from tests.shared import ROOT


def write(*documents: JSONObject, name: str = "policies.yaml") -> str:
    Path(name).write_text("\n---\n".join(map(json.dumps, documents)))
    return name


def run(*arguments: str, sent: str = "") -> Result:
    return CliRunner().invoke(policyd, ["webhooks", *arguments], input=sent, catch_exceptions=True)


def rendered(*flags: str) -> list[JSONObject]:
    done = run("render", "-p", "policies.yaml", *flags)
    assert done.exit_code == 0, done.output
    return list(yaml.safe_load_all(done.stdout))


def client_config(*flags: str) -> Any:
    return rendered(*flags)[0]["webhooks"][0]["clientConfig"]


def test_both_kinds_are_documents(folder: Path) -> None:
    write(policy("a"), policy("b", mutations=[labelling("x", "'y'")]))
    assert [each["kind"] for each in rendered()] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    as_json = json.loads(run("render", "-p", "policies.yaml", "--format", "json").stdout)
    assert (as_json["kind"], as_json["items"]) == ("List", rendered())


def test_addresses(folder: Path) -> None:
    write(policy())
    service = {"namespace": "shop", "name": "guard", "path": "/validate/fail", "port": 8443}
    assert client_config("--service", "shop/guard:8443") == {"service": service}
    assert client_config("--service", "shop/guard")["service"]["port"] == 443
    assert client_config("--url", "https://10.0.0.7:8443") == {
        "url": "https://10.0.0.7:8443/validate/fail"
    }


def test_namespaces(folder: Path) -> None:
    write(policy())

    def excluded(*flags: str) -> Any:
        webhook = rendered(*flags)[0]["webhooks"][0]
        return webhook["namespaceSelector"]["matchExpressions"][0]["values"]

    assert excluded() == ["kube-system", "policyd"]
    assert excluded("--service", "shop/guard") == ["kube-system", "shop"]
    assert excluded("-n", "own", "--exclude-namespace", "x", "--exclude-namespace", "a") == [
        "a",
        "own",
        "x",
    ]


def test_explained_rules(folder: Path) -> None:
    write(policy("a"), policy("b", PODS, rule("services")))
    done = run("render", "-p", "policies.yaml", "--explain")
    assert done.stdout.startswith("# validate-fail.policyd.dev rules[0]: a, b\n")
    assert list(yaml.safe_load_all(done.stdout)) == rendered()


def test_nothing_to_render(folder: Path) -> None:
    write(policy("p", rule("tokenreviews", group="authentication.k8s.io")))
    done = run("render", "-p", "policies.yaml")
    assert (done.exit_code, done.stdout, done.stderr) == (
        0,
        "",
        "note: no policy needs a webhook\n",
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--url", "http://x"], "the API server would refuse this"),
        (["--name", "a b"], "the API server would refuse this"),
        (["--ca-file", "policies.yaml"], "expected certificates in PEM form"),
        (["--ca-file", "nowhere"], "No such file"),
        (["--policy-configmaps", "a in"], "expected a label selector"),
    ],
)
def test_invalid_options(folder: Path, flags: list[str], message: str) -> None:
    write(policy())
    done = run("render", "-p", "policies.yaml", *flags)
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)


@pytest.mark.parametrize(
    "service", ["guard", "a/b/c", "a/b:x", "a/b:0", "/b", "a/b:70000", "a.b/c", "a.b.c", "a/B"]
)
def test_a_service_has_a_namespace_and_a_port(folder: Path, service: str) -> None:
    write(policy())
    done = run("render", "-p", "policies.yaml", "--service", service)
    assert "expected NAMESPACE/NAME[:PORT], got" in done.stderr
    assert "hint" not in done.stderr
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("service", "meant"),
    [
        ("guard.shop.svc:443", "shop/guard:443"),
        ("guard.shop", "shop/guard"),
        ("guard.shop.svc.cluster.local", "shop/guard"),
        ("shop/guard.svc:443", "shop/guard:443"),
        ("shop/guard.shop.svc", "shop/guard"),
    ],
)
def test_the_name_that_dns_has_for_a_service_is_corrected(
    folder: Path, service: str, meant: str
) -> None:
    write(policy())
    done = run("render", "-p", "policies.yaml", "--service", service)
    assert done.stderr.endswith(
        f"expected NAMESPACE/NAME[:PORT], got {service!r}\n  hint: write {meant}\n"
    )
    assert done.exit_code == 2
    against = CliRunner().invoke(
        policyd, ["compare", "-p", "policies.yaml", "--against", service, "--captures", "."]
    )
    assert str(against.exception).endswith(f"\n  hint: write {meant}")


def test_broken_policies_are_not_rendered(folder: Path) -> None:
    write(policy(validations=[{"expression": "1 +"}]))
    assert isinstance(run("render", "-p", "policies.yaml").exception, PolicyError)


def test_check_of_what_was_rendered(folder: Path) -> None:
    write(policy("a"), policy("b", rule("services")))
    text = run("render", "-p", "policies.yaml").stdout
    done = run("check", "-p", "policies.yaml", "-f", "-", sent=text)
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        ["a (Policy): reached", "b (Policy): reached", "2 policies: all reached"],
    )
    found = run("check", "-p", "policies.yaml", "-f", "-", "-v", sent=text).stdout.splitlines()
    assert found[:3] == [
        "a (Policy): reached",
        "  by policyd / validate-fail.policyd.dev, rules[0]",
        "  note: validate-fail.policyd.dev leaves out the namespaces kube-system, policyd",
    ]


def test_check_finds_a_policy_that_is_never_called(folder: Path) -> None:
    write(policy("a"))
    Path("webhooks.yaml").write_text(run("render", "-p", "policies.yaml").stdout)
    write(policy("a", PODS, rule("configmaps")), policy("b", rule("services")))
    done = run("check", "-p", "policies.yaml", "-f", "webhooks.yaml")
    assert (done.exit_code, done.stdout.splitlines()) == (
        1,
        [
            "a (Policy): partly reached",
            "  - no validating webhook has a rule for CREATE, UPDATE of configmaps",
            "b (Policy): not reached",
            "  - no validating webhook has a rule for CREATE, UPDATE of services",
            "2 policies: 1 partly reached, 1 not reached",
        ],
    )
    as_json = run("check", "-p", "policies.yaml", "-f", "webhooks.yaml", "--format", "json")
    assert [(each["policy"], each["state"]) for each in json.loads(as_json.stdout)] == [
        ("a", "partly reached"),
        ("b", "not reached"),
    ]


def test_check_refuses_invalid_configurations(folder: Path) -> None:
    write(policy("a"))
    text = run("render", "-p", "policies.yaml").stdout.replace(
        "timeoutSeconds: 10", "timeoutSeconds: 31"
    )
    done = run("check", "-p", "policies.yaml", "-f", "-", sent=text)
    assert "the timeout value must be between 1 and 30 seconds" in str(done.exception)
    none = run("check", "-p", "policies.yaml", "-f", "policies.yaml")
    missing, hint = str(none.exception).split("\n")
    assert missing == "no webhook configurations in policies.yaml"
    assert "kubectl get validatingwebhookconfigurations," in hint


def test_the_library_is_rendered_and_reached(folder: Path) -> None:
    library = str(ROOT / "policies")
    Path("webhooks.yaml").write_text(run("render", "-p", library).stdout)
    done = run("check", "-p", library, "-f", "webhooks.yaml")
    assert done.exit_code == 0
    assert done.stdout.endswith(": all reached\n")
