"""ClusterPolicy and Policy of kyverno.io, as Policies of policyd: one for each rule."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from policyd.importers import policies
from policyd.importers.kyverno import settings, shape
from policyd.importers.kyverno.first_rule import exclusive
from policyd.importers.kyverno.matching.filters import selecting
from policyd.importers.kyverno.rule_converter import ConvertedRule, RuleConverter, kind_of
from policyd.importers.kyverno.settings import NamespacedAction
from policyd.importers.model import Imported, ImportedDocument, ImportNotes, ImportRemark, Refused
from policyd.importers.naming import LONGEST, valid_name
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_GENERATED = "left out, as Kyverno does: it generates rules whose names begin with autogen- itself"


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Convert a ClusterPolicy or Policy; ``others`` are all documents of the sources.

    A rule that cannot be converted is left out and reported, unless the others see what it changes:
    then the policy is not imported.
    """
    policy = shape.checked(document.raw)
    spec = policy["spec"]
    rules = [_read(each, f"spec.rules[{index}]") for index, each in enumerate(spec["rules"])]
    usable = [each.raw for each in rules if each.reason is None]
    policy = {**policy, "spec": {**spec, "rules": usable}}
    kinds = tuple(dict.fromkeys(map(kind_of, usable)))
    reasons: list[ImportRemark] = []
    converted: list[_Rule] = []
    notes = ImportNotes()
    try:
        converter = RuleConverter(policy, settings.settings(spec, notes), others)
        for index, rule in enumerate(rules):
            path = f"spec.rules[{index}]"
            if rule.reason is not None:
                converted.append(rule)
            elif converter.is_generated(rule.raw):
                notes.remark(f"{path}.name", _GENERATED)
            else:
                converted.append(_converted(converter, rule.raw, path))
        if spec.get("applyRules") == "One" and len(converted) > 1:
            converted = _first_only(converted, notes)
    except Refused as refusal:
        reasons.append(refusal.finding)
    left_out = [each for each in converted if each.reason is not None]
    # Kyverno refuses a policy with a rule that has another form.
    needed = any(not each.raw or _changes_objects(each.raw) for each in left_out)
    if reasons or len(left_out) == len(converted) > 0 or needed:
        depends = len(left_out) < len(converted)
        reasons = [*(_reason(each, depends=depends) for each in left_out), *reasons]
        return [Imported(document, reasons=tuple(reasons), kind_of_rule=kinds)]
    return [_imported(document, policy, converted, notes)]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule with what it became, or the ``reason`` why nothing; ``raw`` is empty if it has not the
    form of a rule.
    """

    raw: JSONObject
    made: Sequence[ConvertedRule] = ()
    reason: ImportRemark | None = None

    @property
    def name(self) -> str:
        return str(self.raw.get("name", ""))


def _read(rule: JSONObject, path: str) -> _Rule:
    """Return a rule that is not converted yet, or why it has not the form of one."""
    try:
        return _Rule(shape.rule(rule, path))
    except Refused as refusal:
        return _Rule({}, reason=refusal.finding)


def _converted(converter: RuleConverter, rule: JSONObject, path: str) -> _Rule:
    try:
        return _Rule(rule, converter.convert(rule, path))
    except Refused as refusal:
        return _Rule(rule, reason=refusal.finding)


def _first_only(rules: Sequence[_Rule], notes: ImportNotes) -> list[_Rule]:
    if any(each.reason for each in rules):
        raise Refused("spec.applyRules", "the other rules apply where one that is missing does not")
    never = "it never applies: a rule before it applies to all that it matches"
    found = exclusive((each.raw, each.made) for each in rules)
    result = [replace(each, made=made) for each, made in zip(rules, found, strict=True)]
    for each in result:
        if not each.made:
            notes.remark("spec.applyRules", f"the rule {each.name} is left out: {never}")
    return result


def _changes_objects(raw: JSONObject) -> bool:
    """Return whether other rules see what a rule changes: a mutation of the object of the request,
    or the digests that verifyImages writes.
    """
    return "verifyImages" in raw or ("mutate" in raw and kind_of(raw) != "targets")


def _reason(rule: _Rule, *, depends: bool) -> ImportRemark:
    """Return why a rule is not imported and, if others depend on it, why they are not."""
    assert rule.reason is not None
    if not (depends and _changes_objects(rule.raw)):
        return rule.reason
    others = "the other rules see what it changes, so they are not imported either"
    return replace(rule.reason, message=f"{rule.reason.message}; {others}")


def _imported(
    document: Document, policy: JSONObject, rules: Sequence[_Rule], notes: ImportNotes
) -> Imported:
    metadata, description = settings.metadata(policy)
    # Category and severity first, with policyd's names.
    kept = metadata["annotations"]
    ours = {key: kept[key] for key in settings.RENAMED.values() if key in kept}
    metadata["annotations"] = ours | kept
    ordered = any("mutations" in rule.spec for each in rules for rule in each.made)
    # The ones left out count as well: a rule that is added by hand renames no other.
    names = policy_names(document.name, [each.name for each in rules], ordered=ordered)
    results = []
    by_rule: dict[str, tuple[str, ...]] = {}
    found = notes.remarks
    for each_rule, name in zip(rules, names, strict=True):
        for rule in each_rule.made:
            written = [
                _document(rule, name, action, metadata, description) for action in rule.actions
            ]
            results += written
            found += (each for each in rule.notes.remarks if each not in found)
            for each in rule.names:
                by_rule[each] = (*by_rule.get(each, ()), *(one.name for one in written))
    missing = [each for each in rules if each.reason is not None]
    reasons = [
        replace(each.reason, message=f"the rule {each.name} is left out: {each.reason.message}")
        for each in missing
        if each.reason is not None
    ]
    kept_rules = [
        raw for raw in policy["spec"]["rules"] if all(raw is not each.raw for each in missing)
    ]
    return Imported(
        document,
        tuple(results),
        tuple(reasons),
        tuple(found),
        by_rule,
        tuple(dict.fromkeys(map(kind_of, kept_rules))),
        left_out=tuple(each.name for each in missing),
    )


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
    if action.labels:
        spec["matchConstraints"] = selecting(spec["matchConstraints"], action.labels)
    if spec.get("validations"):
        spec["validationActions"] = list(action.actions)
    full = "-".join(each for each in (name, rule.suffix, action.suffix) if each)
    kept = {field: value for field, value in spec.items() if value not in (None, [], {})}
    return policies.policy(full, metadata, kept, rule.notes.comments)
