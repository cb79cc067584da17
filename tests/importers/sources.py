"""What tests of imports share: sources on a disk, and a converter that says what each policy becomes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from policyd.importers.all import ConverterTable, convert_all
from policyd.importers.checking import CheckedImport, checked
from policyd.importers.model import Imported, ImportedDocument, ImportRemark, Refused
from policyd.importers.proof.imports import ImportIndex
from policyd.importers.proof.proving import prove
from policyd.importers.proof.rows import Proof
from policyd.importers.reading import ImportSources, read_sources
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document
from policyd.versions import NEWEST
from tests.builders import policies
from tests.builders.objects import container, pod
from tests.builders.policies import document
from tests.shared import ROOT

DATA = ROOT / "tests" / "importers" / "data"


def write(folder: Path, files: Mapping[str, str | JSONObject | Sequence[JSONObject]]) -> Path:
    """Write files below a folder; objects as YAML."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        else:
            listed = [content] if isinstance(content, dict) else content
            path.write_text(yaml.safe_dump_all(listed))
    return folder


def source(name: str = "p", **spec: Any) -> JSONObject:
    """A policy of Kyverno for the converter below: ``rules`` maps rules to the specs that they
    become, ``refused`` is a reason, ``remarks`` are remarks.
    """
    return document("kyverno.io/v1", "ClusterPolicy", name, spec)


def denying(expression: str = "object.metadata.name != 'bad'", **more: Any) -> JSONObject:
    """The spec of a Policy that denies Pods for which an expression is false."""
    return {
        "matchConstraints": PODS,
        "validations": [{"expression": expression, "message": "no"}],
        **more,
    }


def mutating(overlay: JSONObject) -> JSONObject:
    """The spec of a Policy that changes Pods."""
    return {"matchConstraints": PODS, "mutations": [policies.overlay(overlay)]}


PODS = {"resourceRules": [policies.PODS]}


def convert(given: Document, others: Sequence[Document]) -> list[Imported]:
    """Convert a policy that ``source`` makes."""
    spec = given.raw["spec"]
    if spec.get("refused"):
        raise Refused("spec.refused", spec["refused"])
    excepted = [each for each in others if each.kind == "PolicyException"]
    made, rules = [], {}
    for rule, written in spec["rules"].items():
        inner = dict(written)
        name = f"{given.name}-{rule}" if len(spec["rules"]) > 1 else given.name
        if excepted:
            names = [each.raw["spec"]["name"] for each in excepted]
            condition = {"name": "excepted", "expression": f"!(object.metadata.name in {names})"}
            inner["matchConditions"] = [condition]
        raw = document("policyd.dev/v1", "Policy", name, inner)
        made.append(ImportedDocument(raw, {("spec",): "decided"}))
        rules[rule] = (name,)
    remarks = tuple(ImportRemark("spec", each) for each in spec.get("remarks", ()))
    return [Imported(given, tuple(made), (), remarks, rules, ("sample",))]


TABLE: ConverterTable = {("kyverno.io", "ClusterPolicy"): convert}


def imported(read: ImportSources, table: ConverterTable = TABLE) -> list[CheckedImport]:
    """Import everything that was read."""
    return [checked(each, NEWEST) for each in convert_all(read.documents, table)]


def proved(folder: Path, table: ConverterTable = TABLE) -> list[Proof]:
    """Import a folder and run its tests."""
    read = read_sources([folder])
    assert read.problems == ()
    index = ImportIndex(imported(read, table), read.documents, NEWEST, table)
    return list(prove(read.tests, index))


def small_pod(name: str, namespace: str = "", **labels: str) -> JSONObject:
    """A small Pod."""
    return pod(container("c", "i"), name=name, namespace=namespace or None, labels=labels or None)
