"""ClusterPolicy and Policy of kyverno.io, as Policies of policyd: one for each rule."""

from collections.abc import Sequence

from policyd.importers import policies
from policyd.importers.kyverno import settings, shape
from policyd.importers.kyverno.rule_converter import ConvertedRule, RuleConverter, kind_of
from policyd.importers.kyverno.settings import NamespacedAction
from policyd.importers.model import Imported, ImportedDocument, ImportRemark, Refused
from policyd.importers.naming import LONGEST, valid_name
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
    kept = metadata["annotations"]
    ours = {key: kept[key] for key in settings.RENAMED.values() if key in kept}
    metadata["annotations"] = ours | kept
    ordered = any("mutations" in rule.spec for made in rules for rule in made)
    names = policy_names(document.name, [made[0].name for made in rules], ordered=ordered)
    results = []
    by_rule: dict[str, tuple[str, ...]] = {}
    found = list(remarks)
    for made, name in zip(rules, names, strict=True):
        for rule in made:
            written = [
                _document(rule, name, action, metadata, description) for action in rule.actions
            ]
            results += written
            found += (each for each in rule.remarks if each not in found)
            for each in rule.names:
                by_rule[each] = (*by_rule.get(each, ()), *(one.name for one in written))
    return Imported(document, tuple(results), (), tuple(found), by_rule, kinds)


def policy_names(policy: str, rules: Sequence[str], *, ordered: bool) -> list[str]:
    """Return a name for each rule: the policy's if it has one rule.

    ``ordered``: they sort as the rules stand.

    >>> policy_names("labels", ["check-team", "check-owner"], ordered=False)
    ['labels-check-team', 'labels-check-owner']
    >>> policy_names("labels", ["check-team", "check-owner"], ordered=True)
    ['labels-1-check-team', 'labels-2-check-owner']
    """
    if len(rules) == 1:
        return [policy]
    own = list(map(valid_name, rules))
    names = [f"{policy}-{rule}" for rule in own]
    if ordered and names != sorted(names):
        width = len(str(len(rules)))
        names = [f"{policy}-{i:0{width}}-{rule}" for i, rule in enumerate(own, 1)]
    if len(set(names)) < len(names) or max(map(len, names)) > LONGEST:
        names = [f"{policy}-{number}" for number in range(1, len(rules) + 1)]
    return names


def _document(
    rule: ConvertedRule, name: str, action: NamespacedAction, metadata: JSONObject, description: str
) -> ImportedDocument:
    spec: JSONObject = dict(rule.spec)
    if description:
        spec.setdefault("description", description)
    if action.condition:
        where = {"name": "action-by-namespace", "expression": action.condition}
        spec["matchConditions"] = [*spec.get("matchConditions", ()), where]
    if spec.get("validations"):
        spec["validationActions"] = list(action.actions)
    full = "-".join(each for each in (name, rule.suffix, action.suffix) if each)
    kept = {field: value for field, value in spec.items() if value not in (None, [], {})}
    return policies.policy(full, metadata, kept, rule.comments)
