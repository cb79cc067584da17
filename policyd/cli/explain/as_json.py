"""Explanations as JSON. Evaluates nothing."""

from collections.abc import Sequence

from policyd._core.eval.program import type_of
from policyd._core.values.errors import CelError
from policyd.admission.decision import Finding
from policyd.cel.trace.steps import Step, Steps
from policyd.cli.explain.reads import reads_json
from policyd.cli.shared.output import fields_json
from policyd.cli.shared.values import to_json
from policyd.json_types import JSONObject
from policyd.offline.fields import field_of
from policyd.offline.matching import MatchReason
from policyd.offline.stories import PolicyStory, Visit, WebhookStory


def stories_json(stories: Sequence[WebhookStory]) -> JSONObject:
    """Return ``{allowed, webhooks: [{webhook, response, policies}]}``."""
    webhooks = [
        {
            **fields_json(story, "webhook", "response"),
            "policies": [_policy(each) for each in story.policies],
        }
        for story in stories
    ]
    return {"allowed": stories[-1].response["allowed"], "webhooks": webhooks}


def _policy(story: PolicyStory) -> JSONObject:
    line, _ = story.document.place("metadata.name")
    made: JSONObject = {
        **fields_json(story.policy, "name", "kind"),
        "file": story.document.file,
        "line": line,
        **fields_json(story, "outcome", "matched"),
        "match": _reason(story.reason),
        "findings": [_finding(each, each.field) for each in story.findings],
        "ignored": [_finding(each, each.field) for each in story.ignored],
        "exceptions": story.exceptions,
        "bindings": [{"name": name, **_reason(each)} for name, each in story.bindings],
        "params": [{"binding": name, "found": count} for name, count in story.params],
        "reads": reads_json(story.reads),
        "visits": [_visit(each) for each in story.visits],
    }
    if story.stage is not None:
        why = story.stage.problem or story.stage.why
        made["rollout"] = {"enforced": story.stage.enforced, "why": why}
    if story.controllers is not None:
        made["podControllers"] = _reason(story.controllers)
    return made


def _reason(reason: MatchReason) -> JSONObject:
    return fields_json(reason, "applies", "place", "text", "more")


def _finding(finding: Finding, field: str) -> JSONObject:
    optional = ("rollout",) if finding.rollout else ()
    names = ("message", "reason", "index", "actions", "error", *optional)
    return {**fields_json(finding, *names), "field": field}


def _visit(visit: Visit) -> JSONObject:
    return {
        **fields_json(visit, "binding", "actions", "as_pod", "again", "param"),
        "lifted": sorted(visit.lifted),
        "expressions": [_steps(each) for each in visit.expressions],
        "mutations": [
            {
                **fields_json(each, "index", "kind", "operations"),
                **({"error": each.error} if each.error else {}),
            }
            for each in visit.mutations
        ],
        "findings": [_finding(each, field_of(each, visit)) for each in visit.findings],
        "ignored": [_finding(each, field_of(each, visit)) for each in visit.ignored],
    }


def _steps(each: Steps) -> JSONObject:
    return {
        "path": each.label,
        "expression": each.text,
        "variables": {name: _step(step) for name, step in each.variables},
        **_step(each.root),
    }


def _step(step: Step) -> JSONObject:
    made: JSONObject = {"text": step.text, "position": step.pos, "cost": step.cost}
    if step.state != "done":
        made["state"] = step.state
    elif isinstance(step.value, CelError):
        made["error"] = step.value.message
    elif step.round and isinstance(step.value, list) and ", " in step.text:
        made["value"] = [to_json(each) for each in step.value]
    else:
        made["value"] = to_json(step.value)
        made["type"] = type_of(step.value)
    if step.round:
        made["round"] = step.number
    if step.deciding:
        made["deciding"] = True
    if step.hidden:
        made["roundsNotKept"] = step.hidden
    if step.children:
        made["children"] = [_step(each) for each in step.children]
    return made
