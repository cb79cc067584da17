"""ClusterPolicy and Policy of kyverno.io, as Policies of policyd: one for each rule."""

from collections.abc import Sequence

from policyd.importers.kyverno import settings, shape
from policyd.importers.kyverno.bodies import kind_of
from policyd.importers.kyverno.converted_rule import ConvertedRule, documents, policy_names
from policyd.importers.kyverno.rule_converter import RuleConverter
from policyd.importers.model import Imported, ImportRemark, Refused
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_GENERATED = "left out, as Kyverno does: it generates rules whose names begin with autogen- itself"


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Convert a ClusterPolicy or Policy; ``others`` are all documents of the sources.

    A policy is imported whole or not at all: if rules cannot be, the reasons of all are reported.
    """
    try:
        policy = shape.checked(document.raw)
    except Refused as refusal:
        return [Imported(document, reasons=(refusal.finding,))]
    spec = policy["spec"]
    rules = [_rule(each, f"spec.rules[{index}]") for index, each in enumerate(spec["rules"])]
    usable = [each for each in rules if isinstance(each, dict)]
    policy = {**policy, "spec": {**spec, "rules": usable}}
    kinds = tuple(dict.fromkeys(map(kind_of, usable)))
    reasons: list[ImportRemark] = []
    converted: list[list[ConvertedRule]] = []
    remarks: list[ImportRemark] = []
    try:
        common, remarks = settings.settings(spec)
        converter = RuleConverter(policy, common, others)
        for index, rule in enumerate(rules):
            try:
                if isinstance(rule, ImportRemark):
                    reasons.append(rule)
                elif converter.is_generated(rule):
                    remarks.append(ImportRemark(f"spec.rules[{index}].name", _GENERATED))
                else:
                    converted.append(converter.convert(rule, f"spec.rules[{index}]"))
            except Refused as refusal:
                reasons.append(refusal.finding)
    except Refused as refusal:
        reasons.append(refusal.finding)
    if reasons:
        return [Imported(document, reasons=tuple(reasons), kind_of_rule=kinds)]
    return [_imported(document, policy, converted, remarks, kinds)]


def _rule(rule: JSONObject, path: str) -> JSONObject | ImportRemark:
    """Return a rule, or why it has not the form of one."""
    try:
        return shape.rule(rule, path)
    except Refused as refusal:
        return refusal.finding


def _imported(
    document: Document,
    policy: JSONObject,
    rules: Sequence[Sequence[ConvertedRule]],
    remarks: Sequence[ImportRemark],
    kinds: tuple[str, ...],
) -> Imported:
    metadata, description = settings.metadata(policy)
    # Category and severity first, whose names are those of policyd.
    ours = sorted(metadata["annotations"].items(), key=lambda each: "policyd.dev/" not in each[0])
    metadata["annotations"] = dict(ours)
    ordered = any("mutations" in rule.spec for made in rules for rule in made)
    names = policy_names(document.name, [made[0].name for made in rules], ordered=ordered)
    results = []
    by_rule: dict[str, tuple[str, ...]] = {}
    found = list(remarks)
    for made, name in zip(rules, names, strict=True):
        for rule in made:
            written = documents(rule, name, metadata, description)
            results += written
            found += (each for each in rule.remarks if each not in found)
            for each in rule.names:
                by_rule[each] = (*by_rule.get(each, ()), *(one.name for one in written))
    return Imported(document, tuple(results), (), tuple(found), by_rule, kinds)
