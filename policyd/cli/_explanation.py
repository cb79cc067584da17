"""The stories of a request as text for people: the decision first, then the policies that made it,
then the others, a line each. Finds out nothing.
"""

from collections.abc import Iterator, Sequence

from policyd.admission.decision import Finding
from policyd.admission.matching import Reason
from policyd.admission.stories import Applied, PolicyStory, Visit, WebhookStory
from policyd.cel.steps import Steps
from policyd.cli._output import styled
from policyd.cli._tree import Style, tree, value_line
from policyd.cli._values import cut, shown
from policyd.policy.compiled import JSON, Object

MAX_TREE = 40  # lines of one expression, unless everything is asked for
_COLOURS = {
    "denies": "red",
    "warns": "yellow",
    "audits": "yellow",
    "ignores an error": "yellow",
    "changes it": "cyan",
    "changes nothing": "green",
    "admits": "green",
}
# Those that did something come first.
_ORDER = tuple(_COLOURS)


def text(stories: Sequence[WebhookStory], request: Object, style: Style) -> Iterator[str]:
    """The lines of the whole explanation; the webhook that denied comes first."""
    yield from _decision(stories, request)
    denied = not stories[-1].response["allowed"]
    for story in reversed(stories) if denied else stories:
        if story.policies:
            yield ""
            yield styled(f"-- {story.webhook} --", dim=True)
            yield from _webhook(sorted(story.policies, key=_rank), style)


def _webhook(policies: Sequence[PolicyStory], style: Style) -> Iterator[str]:
    short = [each for each in policies if not _tells(each, style)]
    for each in policies:
        if each not in short:
            yield from _policy(each, style)
            yield ""
    for each in short:
        yield from _short(each, style)


def _tells(story: PolicyStory, style: Style) -> bool:
    """Whether a policy has more to say than a line."""
    return story.outcome in _ORDER and (style.everything or story.outcome != "admits")


def _rank(story: PolicyStory) -> int:
    return _ORDER.index(story.outcome) if story.outcome in _ORDER else len(_ORDER)


def _decision(stories: Sequence[WebhookStory], request: Object) -> Iterator[str]:
    """What is asked, and what the API server is answered in the end."""
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
        causes = [cause["message"] for cause in status.get("details", {}).get("causes", ())]
        yield from (f"  {each}" for each in (causes or [status["message"]]))
    for warning in (each for story in stories for each in story.response.get("warnings", ())):
        yield f"  {styled('warning', fg='yellow')}: {warning}"


def _short(story: PolicyStory, style: Style) -> Iterator[str]:
    """One line: what the policy did, or why it did nothing."""
    mark = styled("+", fg="green") if story.outcome == "admits" else "-"
    detail = story.outcome if story.outcome in ("admits", "not matched") else _why_not(story)
    if story.outcome == "not matched":
        detail = _reason(story).text
    line = f"{story.policy.name}: {detail}"
    yield f"{mark} {line if style.everything else cut(line, style.width - 2)}"
    if style.everything:
        yield from _reasons(story)


def _reason(story: PolicyStory) -> Reason:
    """The controllers' rules are what people mean where they are nearer to the request."""
    if story.controllers is not None and (not story.reason.applies):
        return story.controllers
    return story.reason


def _why_not(story: PolicyStory) -> str:
    """Why a policy that matched had nothing to say."""
    match story.outcome:
        case "exempt":
            return f"lifted by exception {', '.join(story.exceptions)}"
        case "condition not met":
            return "; ".join(
                f"{_title(each, story)} is false: {each.text.strip()}"
                for visit in story.visits[:1]
                for each in visit.expressions
                if each.label.startswith("spec.matchConditions") and each.root.value is False
            )
        case "left alone":
            return "nothing in such a request, or in the template of such an object, may be changed"
        case "not bound" if not story.bindings:
            return "no binding"
        case "not bound":
            return "; ".join(f"binding {name}: {reason.text}" for name, reason in story.bindings)
        case "no params":
            return "no params found: parameterNotFoundAction is Allow"
    return story.outcome


def _reasons(story: PolicyStory) -> Iterator[str]:
    """Everything that led to judging the policy, or to not judging it."""
    reason = _reason(story)
    yield f"    match: {reason.text}"
    yield from (f"      {line}" for line in reason.more)
    if story.controllers is not None and story.controllers.applies and story.reason is not reason:
        yield f"    match: {story.controllers.text}"
    for name in story.exceptions:
        yield f"    exception {name} applies"
    for name, bound in story.bindings:
        if name:
            yield f"    binding {name}: {bound.text}"
            yield from (f"      {line}" for line in bound.more)
    for name, count in story.params:
        yield f"    params{f' of {name}' if name else ''}: {count} found"


def _policy(story: PolicyStory, style: Style) -> Iterator[str]:
    """A policy that has something to say: why it was asked, and every expression that matters."""
    policy = story.policy
    outcome = styled(story.outcome, fg=_COLOURS[story.outcome], bold=True)
    line, _ = story.document.place("metadata.name")
    source = styled(f"{story.document.file}:{line}", dim=True)
    yield f"{outcome}: {policy.kind} {styled(policy.name, bold=True)}  {source}"
    yield from _reasons(story)
    for finding in story.findings:
        yield f"    {styled('error', fg='red')}: {finding.message}"
    for finding in story.ignored:
        yield f"    {styled('ignored', fg='yellow')}: {finding.message}"
    for visit in story.visits:
        yield from _visit(visit, story, style)


def _visit(visit: Visit, story: PolicyStory, style: Style) -> Iterator[str]:
    heads = []
    if visit.again:
        heads.append("invoked again, as the object had changed since")
        if not style.everything and not _did(visit):
            yield f"  {heads[0]}: nothing more to change"
            return
    if visit.as_pod:
        heads.append("as the Pod of the template")
    if isinstance(visit.param, dict) and story.policy.param_kind is not None:
        heads.append(f"with params {_name_of(visit.param)}")
    if heads:
        named = f"binding {visit.binding}: " if visit.binding else ""
        yield f"  {named}{', '.join(heads)}"
    told = list(visit.findings)
    for each in visit.expressions:
        mine = [finding for finding in told if _about(finding, each)]
        told = [finding for finding in told if finding not in mine]
        yield from _expression(each, mine, visit, story, style)
    for index in _patterns(visit, story):
        mine = [finding for finding in told if finding.index == index]
        told = [finding for finding in told if finding not in mine]
        mark, colour, fits = ("x", "red", "does not fit") if mine else ("+", "green", "fits")
        yield f"  {styled(mark, fg=colour, bold=True)} validations[{index}]: the pattern {fits}"
        yield from (f"      {styled('message', bold=True)}: {each.message}" for each in mine)
    for applied in visit.mutations:
        yield from _applied(applied, style)
    for finding in told:
        yield f"  {styled('error' if finding.error else 'fails', fg='red')}: {finding.message}"
    if visit.refused:
        yield f"  {styled('error', fg='red')}: {visit.refused}"
    for finding in visit.ignored:
        yield f"  {styled('ignored (failurePolicy)', fg='yellow')}: {finding.message}"


def _patterns(visit: Visit, story: PolicyStory) -> list[int]:
    """The validations that are patterns, where they were asked."""
    plan = story.policy.validation
    conditions = [e for e in visit.expressions if e.label.startswith("spec.matchConditions")]
    if plan is None or not all(each.root.value is True for each in conditions):
        return []
    return [
        index
        for index, each in enumerate(plan.validations)
        if each.pattern is not None and index not in visit.lifted
    ]


def _did(visit: Visit) -> bool:
    changed = any(each.operations or each.error for each in visit.mutations)
    return bool(changed or visit.findings or visit.ignored or visit.refused)


def _name_of(param: JSON) -> str:
    metadata = param.get("metadata") or {}
    names = [str(metadata[key]) for key in ("namespace", "name") if metadata.get(key)]
    return "/".join(names) or "given in the policy"


def _about(finding: Finding, each: Steps) -> bool:
    return each.label == f"spec.validations[{finding.index}].expression" and not (
        finding.error and not each.root.failed
    )


def _index(label: str) -> int:
    """The number in a label such as ``spec.validations[0].expression``."""
    return int(label.partition("[")[2].partition("]")[0] or 0)


def _title(each: Steps, story: PolicyStory) -> str:
    """``validations[0]``, with the name of the entry where it has one."""
    title = each.label.removeprefix("spec.").removesuffix(".expression")
    field, index = title.partition("[")[0], _index(each.label)
    entries = (story.document.raw.get("spec") or {}).get(field) or []
    entry = entries[index] if index < len(entries) else {}
    name = entry.get("name") or entry.get("key") if isinstance(entry, dict) else ""
    return f"{title} {name}" if name else title


def _expression(
    each: Steps, findings: list[Finding], visit: Visit, story: PolicyStory, style: Style
) -> Iterator[str]:
    """One expression: a line if it held, its tree if it did not."""
    root = each.root
    if each.label.startswith("spec.mutations") and not (style.everything or root.failed):
        return
    is_test = each.label.startswith(("spec.validations", "spec.matchConditions"))
    tested = is_test and each.label.endswith("].expression")
    mark, colour = " ", "cyan"
    quiet = not style.everything
    if quiet and each.label.endswith("messageExpression") and not root.failed:
        return
    if root.failed or root.state == "cut":
        mark, colour = "!", "red"
    elif tested:
        mark, colour = ("+", "green") if root.value is True else ("x", "red")
    lifted = ""
    if each.label.startswith("spec.validations") and _index(each.label) in visit.lifted:
        lifted = ", lifted by an exception"
    value = shown(root.value, style.width - 40) if root.state == "done" else "ended by a limit"
    cost = styled(f"(cost {root.cost}{lifted})", dim=True)
    yield f"  {styled(mark, fg=colour, bold=True)} {_title(each, story)} = {value}  {cost}"
    for finding in findings:
        if not finding.error:
            yield f"      {styled('message', bold=True)}: {finding.message}"
    if tested and root.value is True and not style.everything:
        return
    if not tested and not root.failed and not style.everything:
        return
    yield from (
        styled(f"      | {line.rstrip()}", dim=True) for line in each.text.strip().split("\n")
    )
    lines = list(tree(root.children, 3, style))
    for name, variable in each.variables:
        lines.append(f"      {value_line(f'variables.{name}', variable, 3, style)}")
        lines += tree(variable.children, 4, style)
    most = len(lines) if style.everything else MAX_TREE
    yield from lines[:most]
    if len(lines) > most:
        yield f"      … {len(lines) - most} more lines: --policy {story.policy.name} shows them"


def _applied(applied: Applied, style: Style) -> Iterator[str]:
    title = f"  {styled('~', fg='cyan', bold=True)} mutations[{applied.index}] {applied.kind}"
    if applied.error:
        yield f"{title}: {styled('error', fg='red')}: {applied.error}"
    elif not applied.operations:
        yield f"{title} changes nothing"
    else:
        yield title
    signs = {"add": ("+", "green"), "remove": ("-", "red"), "replace": ("~", "yellow")}
    for operation in applied.operations:
        sign, colour = signs.get(operation["op"], ("*", "cyan"))
        path = operation["path"]
        value = f" = {shown(operation['value'], style.width - 12)}" if "value" in operation else ""
        line = cut(f"{sign} {path}{value}", style.width - 6)
        yield f"      {styled(line, fg=colour)}"
