"""ClusterPolicy and Policy of kyverno.io, as Policies of policyd: one for each rule."""

from collections.abc import Sequence

from policyd.importers.kyverno import settings
from policyd.importers.kyverno.bodies import kind_of
from policyd.importers.kyverno.documents import ConvertedRule, documents, policy_names
from policyd.importers.kyverno.rules import RuleConverter
from policyd.importers.model import Imported, ImportRemark, Refused
from policyd.json_types import JSONObject
from policyd.policy.source.documents import Document


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Convert a ClusterPolicy or Policy; ``others`` are all documents of the sources.

    A policy is imported whole or not at all: if rules cannot be, the reasons of all are reported.
    """
    policy = document.raw
    given = policy.get("spec")
    spec: JSONObject = given if isinstance(given, dict) else {}
    rules = spec.get("rules") or []
    kinds = tuple(dict.fromkeys(kind_of(rule) for rule in rules if isinstance(rule, dict)))
    reasons: list[ImportRemark] = []
    converted: list[list[ConvertedRule]] = []
    remarks: list[ImportRemark] = []
    try:
        if not rules or not all(isinstance(rule, dict) for rule in rules):
            raise Refused("spec.rules", "the policy has no rules")
        common, remarks = settings.settings(spec)
        converter = RuleConverter(policy, common, others)
        for index, rule in enumerate(rules):
            try:
                converted.append(converter.convert(rule, f"spec.rules[{index}]"))
            except Refused as refusal:
                reasons.append(refusal.finding)
    except Refused as refusal:
        reasons.append(refusal.finding)
    if reasons:
        return [Imported(document, reasons=tuple(reasons), kind_of_rule=kinds)]
    return [_imported(document, converted, remarks, kinds)]


def _imported(
    document: Document,
    rules: Sequence[Sequence[ConvertedRule]],
    remarks: Sequence[ImportRemark],
    kinds: tuple[str, ...],
) -> Imported:
    metadata, description = settings.metadata(document.raw)
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
