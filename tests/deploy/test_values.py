"""Values that the chart refuses, with their place, and odd ones that it installs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from tests.deploy.rendering import CHART, chart, helm, named

# Maps of users, in which null removes a default.
OPEN = ("resources", "labels", "global")
# Lists that null empties, which is easier to write with --set.
LISTS = {"validatingRules", "mutatingRules", "metricsFrom"}


def refusal(folder: Path, values: JSONObject) -> str:
    file = folder / "values.yaml"
    file.write_text(json.dumps(values))
    done = helm("template", "policyd", str(CHART), "-f", str(file))
    assert done.returncode == 1
    return done.stderr


def installed(folder: Path, values: JSONObject, **options: str) -> list[JSONObject]:
    file = folder / "values.yaml"
    file.write_text(json.dumps(values))
    release = options.get("release", "policyd")
    done = helm("template", release, str(CHART), "-n", "policyd", "-f", str(file))
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def nothing(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, all of them null."""
    return {
        key: nothing(each) if isinstance(each, dict) and each and key not in OPEN else None
        for key, each in values.items()
    }


def test_no_value_may_be_null(tmp_path: Path) -> None:
    """Of ``replicas: null`` became 0, of ``apiServerPorts: null`` all ports."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    flat = refusal(tmp_path, dict.fromkeys(values))
    assert set(re.findall(r"'(\w+)'", flat)) >= values.keys()
    nested = refusal(tmp_path, nothing(values))
    for group, each in values.items():
        if isinstance(each, dict) and each and group not in OPEN:
            [line] = [text for text in nested.splitlines() if f"at '/{group}'" in text]
            assert set(re.findall(r"'(\w+)'", line)) >= each.keys() - LISTS, group


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"labels": {"app.kubernetes.io/name": "x"}}, "/labels/app.kubernetes.io~1name"),
        ({"podLabels": {"app.kubernetes.io/instance": "x"}}, "/podLabels/"),
        ({"podMonitor": {"labels": {"helm.sh/chart": "x"}}}, "/podMonitor/labels/"),
        ({"image": {"repository": "a b"}}, "/image/repository"),
        ({"extraEnv": [{"name": "A", "value": 1}]}, "/extraEnv/0/value"),
        (
            {"policies": {"inline": {"baseline-capabilities.yaml": "a"}}},
            "policies.inline has a file baseline-capabilities.yaml",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, values: JSONObject, place: str) -> None:
    assert place in refusal(tmp_path, values)


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("123", "policyd-123"),
        ("a.b", "a-b-policyd"),
        ("policyd.v1", "policyd-v1"),
        ("7-policyd", "policyd-7-policyd"),
        ("a" * 53, f"{'a' * 44}-policyd"),
        (f"{'a' * 42}--bcd", f"{'a' * 42}-policyd"),
        (f"{'a' * 43}.bcd", f"{'a' * 43}-policyd"),
        (f"policyd{'a' * 43}--b", f"policyd{'a' * 43}"),
    ],
)
def test_the_name_is_that_of_a_service(tmp_path: Path, release: str, name: str) -> None:
    objects = installed(tmp_path, {"report": {"enabled": True}}, release=release)
    assert named(objects, "Service", name)
    for each in objects:
        assert re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", each["metadata"]["name"])


def test_texts_arrive_as_they_are(tmp_path: Path) -> None:
    texts = {
        "a.yaml": "  # indented\na: b\n",
        "b.yaml": "\ta\n",
        "c.yaml": "a: b\r\nc: '{{ .Values.x }}'",
        "d.yaml": "\n\n    a\n b\n\n",
        "e.yaml": "a: \x07 \u2028 é\n---\n# end",
    }
    policies = {"podSecurity": "", "inline": texts}
    made = named(installed(tmp_path, {"policies": policies}), "ConfigMap", "policyd-policies")
    assert made["data"] == texts


def test_without_rules_edits_are_still_checked(tmp_path: Path) -> None:
    objects = installed(tmp_path, {"static": {"enabled": True, "validatingRules": []}})
    configuration = named(objects, "ValidatingWebhookConfiguration")
    assert [each["name"] for each in configuration["webhooks"]] == ["policies.policyd.dev"]


def test_no_config_map_is_mounted_twice() -> None:
    objects = chart("static.enabled=true", "policies.configMaps={policyd-policies,more}")
    spec = named(objects, "Deployment")["spec"]["template"]["spec"]
    mounted = [each["configMap"]["name"] for each in spec["volumes"] if "configMap" in each]
    assert mounted == ["policyd-policies", "more"]
