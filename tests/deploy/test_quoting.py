"""Strings of the chart stay strings in YAML, whatever the release, the namespace and the values are
called: 123, on, 1e3.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSON
from policyd.policy.source.splitting import read_values
from tests.deploy.rendering import CHART, helm

TEMPLATES = sorted(
    each for each in (CHART / "templates").iterdir() if each.suffix in (".yaml", ".tpl")
)
_ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")
_CONTROL = re.compile(r"/\*|(?:if|else|end|range|with|define|fail)\b|\$\w+\s*:?=")
# What writes a string in quotes, a number, or YAML of a whole value.
_WRITTEN = re.compile(r"^toJson\b|\| *(?:quote|toJson|int64|nindent \d+)$")


def outputs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the actions of a template that write a part of a line of YAML."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in _ACTION.finditer(line):
            alone = line.strip() == found.group(0)
            if not _CONTROL.match(found.group(1)) and not (alone and path.suffix == ".tpl"):
                yield number, found.group(1)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_string_is_quoted(path: Path) -> None:
    wrong = {number: text for number, text in outputs(path) if not _WRITTEN.search(text)}
    assert wrong == {}


def values(string: str, key: str) -> dict[str, Any]:
    """Values that are this string wherever the schema allows it, and this key of a label."""
    labels = {key: string}
    return {
        "fullnameOverride": "" if string[0].isdigit() else string,
        "serviceAccount": {"name": string, "annotations": {key: string}},
        "labels": labels,
        "podLabels": {key: string},
        "podAnnotations": {key: string},
        "deploymentAnnotations": {key: string},
        "service": {"annotations": {key: string}},
        "image": {"repository": string, "tag": string},
        "imagePullSecrets": [{"name": string}],
        "priorityClassName": string,
        "nodeSelector": {key: string},
        "spreadOver": [string],
        "certificates": {"secretName": string},
        "policies": {
            "selector": f"{key}={string}",
            "configMaps": [string],
            "inline": {f"{string}.yaml": "a"},
        },
        "exceptions": {"namespaces": [string], "selector": f"{key}={string}"},
        "rbac": {"params": [{"apiGroups": [string], "resources": [string]}]},
        "extraEnv": [{"name": "A", "value": string}],
        "report": {"enabled": True, "activeDeadlineSeconds": 1_000_000},
        "serviceMonitor": {"enabled": True, "labels": labels},
        "podMonitor": {"enabled": True, "labels": labels},
        "prometheusRule": {"enabled": True, "labels": labels},
        "dashboard": {"enabled": True, "labels": labels},
        "priorityClass": {"value": 1_000_000},
    }


PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "cert-manager": {"certManager": {"enabled": True}},
    "static": {
        "static": {
            "enabled": True,
            "clusterLookups": True,
            "mutatingRules": [{"operations": ["CREATE"], "apiGroups": ["on"], "apiVersions": ["v1"],
                               "resources": ["no"]}],
            "excludedNamespaces": ["7"],
        }
    },
}  # fmt: skip


def rendered(folder: Path, string: str, key: str, profile: dict[str, Any]) -> list[JSON]:
    """The objects of a release of this name in a namespace of it, read as Kubernetes reads them."""
    file = folder / "values.yaml"
    file.write_text(json.dumps({**values(string, key), **profile}))
    done = helm("template", string, str(CHART), "-n", string, "-f", str(file))
    assert done.returncode == 0, done.stderr
    found, problems = read_values("chart", done.stdout.encode())
    assert problems == []
    return found


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("string", ["123", "on", "null", "1e3"])
def test_odd_names_change_no_type(tmp_path: Path, string: str, profile: str) -> None:
    usual = "7-plain" if string[0].isdigit() else "plain"  # fullnameOverride begins with a letter
    want = types(rendered(tmp_path, usual, "team", PROFILES[profile]))
    assert types(rendered(tmp_path, string, string, PROFILES[profile])) == want


def types(value: JSON) -> JSON:
    """The tree with the type of each key and value in its place."""
    if isinstance(value, dict):
        return [[type(key).__name__, types(each)] for key, each in value.items()]
    if isinstance(value, list):
        return [types(each) for each in value]
    return type(value).__name__
