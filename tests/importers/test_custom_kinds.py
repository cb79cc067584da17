"""The table of kinds of well-known projects, and how it is read from their repositories."""

import json
import subprocess
from pathlib import Path

from tools.make_custom_kinds import FILE, REPOSITORIES, WRITTEN, definitions

TEMPLATE = """{{- if .Values.crds }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buses.example.com}
spec:
  group: example.com
  names:
    kind: Bus
    plural: "buses"
  scope: Cluster
{{- end }}
---
kind: Bus
"""


def test_definitions_of_a_repository(tmp_path: Path) -> None:
    for name in ("crd.yaml", "tests/crd.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEMPLATE)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "add"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    want = {"group": "example.com", "kind": "Bus", "plural": "buses", "scope": "Cluster"}
    assert list(definitions(tmp_path)) == [want]


def test_the_table_has_the_groups_that_the_program_names() -> None:
    table = json.loads(FILE.read_bytes())
    assert table["namespaced"].keys() | table["cluster"].keys() == (
        REPOSITORIES.keys() | {group for group, _, _ in WRITTEN}
    )
    for group, kinds in table["cluster"].items():
        assert {*kinds.split()}.isdisjoint(table["namespaced"].get(group, "").split())
