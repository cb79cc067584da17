"""ConstraintTemplates with the engine ``K8sNativeValidation``, with their constraints.

A constraint becomes a Policy: ``match`` becomes matchConstraints and matchConditions,
``parameters`` become inline ``params``. Fields: Gatekeeper pkg/drivers/k8scel/schema/schema.go.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from policyd.defaulting.custom import add_defaults
from policyd.defaulting.go_values import copied
from policyd.export.expressions.occurrences import Occurrence, Untranslatable, replaced
from policyd.importers.fields import (
    items,
    object_at,
    objects,
    one_line,
    require_fields,
    strings,
    tidy,
)
from policyd.importers.gatekeeper.matching import matched
from policyd.importers.model import (
    Imported,
    ImportedDocument,
    ImportNotes,
    ImportRemark,
    Refused,
    refusing,
)
from policyd.importers.policies import in_effect, metadata_of, policy, whole
from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.yaml_edit.edits import TextEdit

_NAMES = frozenset(("variables", "params"))
# Gatekeeper pkg/drivers/k8scel/transform/cel_snippets.go, BindObject.
ANY_OBJECT = "object != null ? object : oldObject"


def rewritten(text: str, path: str, *, deletes: bool) -> str:
    """Return an expression of a template as one of a Policy with inline params.

    ``variables.params`` is ``params``; ``variables.anyObject`` is ``object`` unless the policy is
    about deletes. Raises Refused.
    """
    text = tidy(text)
    with refusing(path, Untranslatable):
        return replaced(text, _NAMES, lambda use: _replacement(text, use, path, deletes))


def _replacement(text: str, use: Occurrence, path: str, deletes: bool) -> Iterator[TextEdit]:
    keys = [access.key for access in use.accesses]
    spans = [access.span for access in use.accesses]
    if use.name == "params":
        if keys[:2] != ["spec", "parameters"] or spans[1] is None:
            raise Refused(path, "only the parameters of the constraint can be read of params")
        yield TextEdit(use.start, spans[1][1], "params")
    elif keys[:1] == ["params"]:
        yield _params(text, use, path)
    elif keys[:1] == ["anyObject"] and not deletes:
        if spans[0] is None:
            raise Refused(path, "variables.anyObject can be read by that name only")
        yield TextEdit(use.start, spans[0][1], "object")


def _params(text: str, use: Occurrence, path: str) -> TextEdit:
    access = use.accesses[0]
    if access.test:  # has(variables.params): parameters are always there
        before = text[: use.start].rstrip()
        after = text.find(")", use.end)
        if before.endswith("(") and before[:-1].rstrip().endswith("has"):
            return TextEdit(before[:-1].rstrip().rindex("has"), after + 1, "true")
    if access.span is None:
        raise Refused(path, "variables.params can be read by that name only")
    return TextEdit(use.start, access.span[1], "params")


def parameters_of(constraint: JSONObject, schema: JSON) -> JSONObject:
    """Return the parameters of a constraint, with the defaults that the API server sets; empty if
    there are none.
    """
    found: JSONObject = copied(object_in(constraint, "spec", "parameters"))
    add_defaults(found, schema)
    return found


# Policies of ``policies/`` that do what a template of the Gatekeeper library does in Rego, by its
# name. They were written apart, so messages and parameters differ.
EQUIVALENTS: Mapping[str, str] = json.loads(
    Path(__file__).with_name("equivalents.json").read_bytes()
)
_ENGINE = "K8sNativeValidation"
_CONSTRAINTS = "constraints.gatekeeper.sh"
_SOURCE = (
    "validations",
    "variables",
    "matchCondition",
    "failurePolicy",
    "generateVAP",  # whether Gatekeeper makes a ValidatingAdmissionPolicy of it
)
_SPEC = ("match", "parameters", "enforcementAction", "scopedEnforcementActions")
_KIND = (_ENGINE,)
# Annotations of a template: those that a Policy has a field or another name for.
_ANNOTATIONS = ("description", "metadata.gatekeeper.sh/version")


def convert(document: Document, others: Sequence[Document]) -> list[Imported]:
    """Return what became of each constraint of a template, or of the template if it is refused."""
    try:
        template = _Template(document)
    except Refused as refused:
        has_cel = f"'engine': '{_ENGINE}'" in str(document.raw.get("spec"))
        kinds = _KIND if has_cel else ("Rego",)
        return [Imported(document, reasons=(refused.finding,), kind_of_rule=kinds)]
    constraints = [
        each for each in others if each.group == _CONSTRAINTS and each.kind == template.kind
    ]
    if not constraints:
        text = f"no {template.kind} is in the sources: a template without constraints does nothing"
        reason = ImportRemark("spec.crd.spec.names.kind", text)
        return [Imported(document, reasons=(reason,), kind_of_rule=_KIND)]
    return [
        whole(each, _KIND[0], partial(template.converted, each, others)) for each in constraints
    ]


class _Template:
    """The CEL of a template. Raises Refused if it has none, or something that is not known."""

    def __init__(self, document: Document) -> None:
        self._document = document
        spec = object_at(document.raw, "spec")
        crd = object_at(object_at(spec, "crd", "spec"), "spec", "spec.crd")
        names = object_at(crd, "names", "spec.crd.spec")
        self.kind = str(names.get("kind", ""))
        validation = object_at(crd, "validation", "spec.crd.spec")
        self._schema = validation.get("openAPIV3Schema")
        targets = objects(spec.get("targets"), "spec.targets")
        if len(targets) != 1:
            raise Refused("spec.targets", "expected one target")
        [target] = targets
        self._operations = strings(target.get("operations"), "spec.targets[0].operations")
        for index, code in enumerate(objects(target.get("code"), "spec.targets[0].code")):
            if code.get("engine") == _ENGINE:
                self._path = f"spec.targets[0].code[{index}].source"
                self._source = object_at(
                    code, "source", self._path.removesuffix(".source"), _SOURCE
                )
                return
        text = "it is written in Rego only, which is not translated"
        if same := EQUIVALENTS.get(document.name):
            text = f"{text}; {same} of policyd's library is about the same"
        raise Refused("spec.targets[0]", text)

    def converted(
        self, constraint: Document, others: Sequence[Document], notes: ImportNotes
    ) -> list[ImportedDocument]:
        """Return the Policy of a constraint."""
        spec = object_at(constraint.raw, "spec", "", _SPEC)
        operations = [each for each in self._operations if each != "*"] or ["CREATE", "UPDATE"]
        if "*" in self._operations:
            operations = ["CREATE", "UPDATE", "DELETE"]
        guesses = ImportNotes()
        match = object_at(spec, "match", "spec")
        match = matched(match, "spec.match", others, guesses, operations)
        actions = validation_actions(spec, "spec", notes)
        notes.remarks.extend(guesses.remarks)
        deletes = "DELETE" in operations
        body = self._body(deletes)
        if deletes:
            body["variables"].insert(0, {"name": "anyObject", "expression": ANY_OBJECT})
        metadata, own = metadata_of(constraint), metadata_of(self._document)["annotations"]
        found: JSONObject = {
            "description": one_line(str(own.get("description", ""))),
            "matchConstraints": match["matchConstraints"],
            "matchConditions": [*match["matchConditions"], *body["matchConditions"]],
            "params": parameters_of(constraint.raw, self._schema),
            "variables": body["variables"],
            "failurePolicy": self._source.get("failurePolicy"),
            "validationActions": actions,
            "validations": body["validations"],
        }
        kept = {field: value for field, value in found.items() if value or field == "params"}
        annotations = {
            key: str(value)
            for key, value in (own | metadata["annotations"]).items()
            if key not in _ANNOTATIONS
        }
        return [policy(constraint.name, {**metadata, "annotations": annotations}, kept)]

    def _body(self, deletes: bool) -> JSONObject:
        """Return matchConditions, variables and validations."""
        found: JSONObject = {}
        for given, wanted, fields in (
            ("matchCondition", "matchConditions", ("name", "expression")),
            ("variables", "variables", ("name", "expression")),
            ("validations", "validations", ("expression", "message", "messageExpression")),
        ):
            found[wanted] = [
                self._item(each, path, fields, deletes)
                for each, path in items(self._source, given, self._path, fields)
            ]
        return found

    def _item(
        self, given: JSONObject, path: str, fields: tuple[str, ...], deletes: bool
    ) -> JSONObject:
        found: JSONObject = {}
        for field in fields:
            text = given.get(field)
            if field.lower().endswith("expression") and text:
                found[field] = rewritten(str(text), f"{path}.{field}", deletes=deletes)
            elif text:
                found[field] = one_line(str(text))
        return found


_ACTIONS: Mapping[str, str] = {"deny": "Deny", "warn": "Warn", "dryrun": "Audit"}
# Enforcement points that are about requests; the others scan clusters and files.
_ADMISSION = frozenset(("*", "validation.gatekeeper.sh", "vap.k8s.io"))


def validation_actions(spec: JSONObject, path: str, notes: ImportNotes) -> list[str]:
    """Return validationActions of a constraint's ``spec``; raises Refused."""
    action = str(spec.get("enforcementAction") or "deny")
    scoped = objects(spec.get("scopedEnforcementActions"), f"{path}.scopedEnforcementActions")
    if action != "scoped":
        return [_known(action, f"{path}.enforcementAction")]
    found: set[str] = set()
    for index, each in enumerate(scoped):
        here = f"{path}.scopedEnforcementActions[{index}]"
        require_fields(each, ("action", "enforcementPoints"), here)
        points = objects(each.get("enforcementPoints"), f"{here}.enforcementPoints")
        if any(point.get("name") in _ADMISSION for point in points):
            found.add(_known(str(each.get("action")), f"{here}.action"))
    if not found:
        text = "no action is about requests: violations are recorded in the audit log"
        notes.remark(f"{path}.scopedEnforcementActions", text)
        return ["Audit"]
    return in_effect(found, f"{path}.scopedEnforcementActions", notes)


def _known(action: str, path: str) -> str:
    if action not in _ACTIONS:
        raise Refused(path, f"the action {action} is not deny, warn, dryrun or scoped")
    return _ACTIONS[action]
