"""Explanations as text: the decision, then the policies that caused it, then one line for each of
the others. Evaluates nothing.
"""

from collections.abc import Iterator, Sequence

from policyd.bounded_text import cause_text, with_field
from policyd.cli.explain.reads import read_lines
from policyd.cli.explain.visits import VisitText, title, unenforced
from policyd.cli.shared.output import counted, styled
from policyd.cli.shared.tree import TreeStyle
from policyd.cli.shared.values import cut
from policyd.json_types import JSONObject
from policyd.offline.matching import MatchReason
from policyd.offline.stories import PolicyStory, WebhookStory

_COLOURS = {
    "denies": "red",
    "would deny": "magenta",
    "warns": "yellow",
    "audits": "yellow",
    "ignores an error": "yellow",
    "changes it": "cyan",
    "would change it": "magenta",
    "changes nothing": "green",
    "admits": "green",
}
# Policies that acted come first.
_ORDER = tuple(_COLOURS)


def text(
    stories: Sequence[WebhookStory], request: JSONObject, style: TreeStyle, *, defaulted: bool
) -> Iterator[str]:
    """Yield the lines of the whole explanation; the webhook that denied comes first."""
    first, *others = _decision(stories, request, style)
    yield f"{first}, with the API server's defaults" if defaulted else first
    yield from others
    denied = not stories[-1].response["allowed"]
    for story in reversed(stories) if denied else stories:
        if story.policies:
            yield ""
            yield styled(f"-- {story.webhook} --", dim=True)
            yield from _webhook(sorted(story.policies, key=rank), style)


def _webhook(policies: Sequence[PolicyStory], style: TreeStyle) -> Iterator[str]:
    short = [each for each in policies if not in_detail(each, style)]
    for each in policies:
        if each not in short:
            yield from policy_lines(each, style)
            yield ""
    for each in short:
        yield from short_lines(each, style)


def in_detail(story: PolicyStory, style: TreeStyle) -> bool:
    """Whether a policy is shown in detail rather than on one line."""
    return story.outcome in _ORDER and (style.everything or story.outcome != "admits")


def rank(story: PolicyStory) -> int:
    return _ORDER.index(story.outcome) if story.outcome in _ORDER else len(_ORDER)


def _decision(
    stories: Sequence[WebhookStory], request: JSONObject, style: TreeStyle
) -> Iterator[str]:
    """Yield the request and the final answer to the API server."""
    resource, kind = request.get("resource") or {}, (request.get("kind") or {}).get("kind", "?")
    where = f" in namespace {request['namespace']}" if request.get("namespace") else ""
    name = f" {request['name']}" if request.get("name") else ""
    user = (request.get("userInfo") or {}).get("username", "")
    sub = ""
    if request.get("subResource"):
        sub = f" ({resource.get('resource')}/{request['subResource']})"
    yield f"{request.get('operation')} {kind}{name}{sub}{where}{f' by {user}' if user else ''}"
    last = stories[-1]
    answer = last.response
    if answer["allowed"]:
        changed = " after mutation" if any(s.after is not s.before for s in stories) else ""
        yield f"{styled('ALLOWED', fg='green', bold=True)}{changed}"
    else:
        status = answer["status"]
        code = " ".join(str(each) for each in (status.get("code"), status.get("reason")) if each)
        by = "validating" if last.webhook == "validate" else "mutating"
        yield f"{styled('DENIED', fg='red', bold=True)} {code} by the {by} webhook"
        yield from _causes(status, [p.policy.name for p in last.policies], style)
    for warning in (each for story in stories for each in story.response.get("warnings", ())):
        yield f"  {styled('warning', fg='yellow')}: {warning}"


def _causes(status: JSONObject, names: Sequence[str], style: TreeStyle) -> Iterator[str]:
    """Yield the denials of the policies shown, and the number of the other denials."""
    causes = [cause_text(each) for each in status.get("details", {}).get("causes", ())]
    causes = causes or [status["message"]]
    mine = [each for each in causes if any(f"'{name}'" in each for name in names)]
    if not style.everything or not mine or len(mine) == len(causes):
        yield from (f"  {each}" for each in causes)
        return
    yield from (f"  {each}" for each in mine)
    yield f"  and {counted(len(causes) - len(mine), 'denial')} by other policies"


def short_lines(story: PolicyStory, style: TreeStyle) -> Iterator[str]:
    """Yield one line: what the policy did, or why it did nothing."""
    mark = styled("+", fg="green") if story.outcome == "admits" else "-"
    detail = story.outcome if story.outcome in ("admits", "not matched") else _why_not(story)
    if story.outcome == "not matched" and not style.everything:
        detail = _reason(story).text
    line = f"{story.policy.name}: {detail}"
    yield f"{mark} {line if style.everything else cut(line, style.width - 2)}"
    if style.everything:
        yield from _reasons(story)


def _reason(story: PolicyStory) -> MatchReason:
    """Prefer the reason of podControllers if the policy's own rules do not match."""
    if story.controllers is not None and (not story.reason.applies):
        return story.controllers
    return story.reason


def _why_not(story: PolicyStory) -> str:
    """Explain why a policy that matched did not act."""
    match story.outcome:
        case "exempt":
            return f"exempted by exception {', '.join(story.exceptions)}"
        case "condition not met":
            return "; ".join(
                f"{title(each, story)} is false: {each.text.strip()}"
                for visit in story.visits[:1]
                for each in visit.expressions
                if each.label.startswith("spec.matchConditions") and each.root.value is False
            )
        case "left alone":
            return "this request, or the template in it, cannot be mutated"
        case "not bound" if not story.bindings:
            return "no binding"
        case "not bound":
            return "; ".join(f"binding {name}: {reason.text}" for name, reason in story.bindings)
        case "no params":
            return "no params found: parameterNotFoundAction is Allow"
    return story.outcome


def _reasons(story: PolicyStory) -> Iterator[str]:
    """Yield the reasons why the policy was evaluated or not."""
    reason = _reason(story)
    yield f"    match: {reason.text}"
    yield from (f"      {line}" for line in reason.more)
    if story.controllers is not None and story.controllers.applies and story.reason.applies:
        yield f"    match: {story.controllers.text}"
    if story.stage is not None:
        enforced = "enforced" if story.stage.enforced else "not enforced"
        yield f"    rollout: {enforced}: {story.stage.problem or story.stage.why}"
    for name in story.exceptions:
        yield f"    exception {name} applies"
    for name, bound in story.bindings:
        if name:
            yield f"    binding {name}: {bound.text}"
            yield from (f"      {line}" for line in bound.more)
    for name, count in story.params:
        yield f"    params{f' of {name}' if name else ''}: {count} found"
        if not count:
            yield "      paramRef selects none: check its name and namespace (by default that of"
            yield "      the request), or add the object to the policies"


def policy_lines(story: PolicyStory, style: TreeStyle) -> Iterator[str]:
    """Yield the details of a policy: why it was evaluated, and its relevant expressions."""
    policy = story.policy
    outcome = styled(story.outcome, fg=_COLOURS[story.outcome], bold=True)
    line, _ = story.document.place("metadata.name")
    source = styled(f"{story.document.file}:{line}", dim=True)
    yield f"{outcome}: {policy.kind} {styled(policy.name, bold=True)}  {source}"
    yield from _reasons(story)
    yield from read_lines(story.reads, style.width)
    for finding in story.findings:
        message = with_field(finding.field, finding.message)
        yield f"    {styled('error', fg='red')}: {message}{unenforced(finding, story)}"
    for finding in story.ignored:
        yield f"    {styled('ignored', fg='yellow')}: {with_field(finding.field, finding.message)}"
    for visit in story.visits:
        yield from VisitText(visit, story, style).lines()
