"""The evaluation of one policy under one binding and param, as lines. Evaluates nothing."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from policyd.admission.decision import Finding
from policyd.bounded_text import with_field
from policyd.cel.trace.steps import Step, Steps
from policyd.cli.shared.output import styled
from policyd.cli.shared.tree import TreeStyle, tree, value_line
from policyd.cli.shared.values import cut, shown
from policyd.json_types import JSON
from policyd.offline.fields import field_of
from policyd.offline.stories import Applied, PolicyStory, Visit, is_about

MAX_TREE = 24  # lines per expression, unless everything is shown


@dataclass
class VisitText:
    """One visit; its lines can be read once."""

    visit: Visit
    story: PolicyStory
    style: TreeStyle

    def __post_init__(self) -> None:
        self._unshown = list(self.visit.findings)
        self._known: dict[str, object] = {}  # variables that were shown already

    def lines(self) -> Iterator[str]:
        """Yield what was evaluated, in order, with its results."""
        visit = self.visit
        changed = any(each.operations or each.error for each in visit.mutations)
        acted = changed or visit.findings or visit.ignored
        if visit.again and not self.style.everything and not acted:
            yield "  reinvoked because the object changed: no further changes"
            return
        yield from self._head()
        for each in visit.expressions:
            mine = [finding for finding in self._unshown if is_about(finding, each)]
            self._unshown = [finding for finding in self._unshown if finding not in mine]
            yield from self._expression(each, mine)
        yield from self._patterns()
        for applied in visit.mutations:
            yield from self._applied(applied)
        for finding in self._unshown:
            word = styled("error" if finding.error else "fails", fg="red")
            yield f"  {word}: {self._text(finding)}{unenforced(finding, self.story)}"
        for finding in visit.ignored:
            yield f"  {styled('ignored (failurePolicy)', fg='yellow')}: {self._text(finding)}"

    def _head(self) -> Iterator[str]:
        visit, heads = self.visit, []
        if visit.again:
            heads.append("reinvoked because the object changed")
        if visit.as_pod:
            heads.append("checked as the Pod of the template")
        if isinstance(visit.param, dict) and self.story.policy.param_kind is not None:
            heads.append(f"with params {_name_of(visit.param)}")
        if heads:
            named = f"binding {visit.binding}: " if visit.binding else ""
            yield f"  {named}{', '.join(heads)}"

    def _expression(self, each: Steps, findings: list[Finding]) -> Iterator[str]:
        """Yield a line for a true expression, a tree for a false or failed one."""
        root, quiet = each.root, not self.style.everything
        tested = each.label.startswith(("spec.validations", "spec.matchConditions"))
        tested = tested and each.label.endswith("].expression")
        if quiet and not root.failed and each.label.endswith("messageExpression"):
            return
        if quiet and not root.failed and each.label.startswith("spec.mutations"):
            return
        mark, colour = " ", "cyan"
        if root.failed or root.state == "cut":
            mark, colour = "!", "red"
        elif tested:
            mark, colour = ("+", "green") if root.value is True else ("x", "red")
        value = "stopped by a limit"
        if root.state == "done":
            value = shown(root.value, self.style.width - 40)
        validation = each.label.startswith("spec.validations")
        lifted = validation and _index(each.label) in self.visit.lifted
        exempted = ", exempted by an exception" if lifted else ""
        cost = styled(f"(cost {root.cost}{exempted})", dim=True)
        name = title(each, self.story)
        yield f"  {styled(mark, fg=colour, bold=True)} {name} = {value}  {cost}"
        for finding in findings:
            if not finding.error:
                yield self._message(finding)
        if quiet and (root.value is True if tested else not root.failed):
            return
        yield from self._tree(each)

    def _message(self, finding: Finding) -> str:
        why = unenforced(finding, self.story)
        return f"      {styled('message', bold=True)}: {self._text(finding)}{why}"

    def _text(self, finding: Finding) -> str:
        return with_field(field_of(finding, self.visit), finding.message)

    def _tree(self, each: Steps) -> Iterator[str]:
        """Yield the source of an expression, its subexpressions and the variables it computed."""
        for line in each.text.strip().split("\n"):
            yield styled(f"      | {line.rstrip()}", dim=True)
        # Messages compute variables again.
        computed = {
            f"variables.{name}": variable
            for name, variable in each.variables
            if name not in self._known or self._known[name] != variable.value
        }
        self._known |= {name: variable.value for name, variable in each.variables}
        lines = list(tree(_without(each.root.children, computed), 3, self.style))
        for name, variable in computed.items():
            lines.append(f"      {value_line(name, variable, 3, self.style)}")
            source = cut(" ".join(variable.text.split()), self.style.width - 12)
            lines.append(styled(f"        | {source}", dim=True))
            lines += tree(_without(variable.children, computed), 4, self.style)
        most = len(lines) if self.style.everything else MAX_TREE
        yield from lines[:most]
        if len(lines) > most:
            more = len(lines) - most
            yield f"      … {more} more lines: --policy {self.story.policy.name} shows them"

    def _patterns(self) -> Iterator[str]:
        """Yield the results of the patterns that were evaluated."""
        plan, visit = self.story.policy.validation, self.visit
        conditions = [e for e in visit.expressions if e.label.startswith("spec.matchConditions")]
        if (
            plan is None
            or not visit.validates
            or not all(each.root.value is True for each in conditions)
        ):
            return
        for index, each in enumerate(plan.validations):
            if each.pattern is None or index in visit.lifted:
                continue
            mine = [finding for finding in self._unshown if finding.index == index]
            self._unshown = [finding for finding in self._unshown if finding not in mine]
            mark, colour, fits = (
                ("x", "red", "does not match") if mine else ("+", "green", "matches")
            )
            yield f"  {styled(mark, fg=colour, bold=True)} validations[{index}]: the pattern {fits}"
            yield from map(self._message, mine)

    def _applied(self, applied: Applied) -> Iterator[str]:
        """Yield the changes of a mutation."""
        head = f"  {styled('~', fg='cyan', bold=True)} mutations[{applied.index}] {applied.kind}"
        if applied.error:
            yield f"{head}: {styled('error', fg='red')}: {applied.error}"
            return
        effect = " (not applied: see rollout)" if self.story.held else ""
        yield f"{head}{effect}" if applied.operations else f"{head} changes nothing"
        width = self.style.width
        for operation in applied.operations:
            sign, colour = _SIGNS.get(operation["op"], ("*", "cyan"))
            line = f"{sign} {operation['path']}"
            if "value" in operation:
                line += f" = {shown(operation['value'], width - 12)}"
            yield f"      {styled(cut(line, width - 6), fg=colour)}"


def _without(steps: Iterable[Step], names: Container[str]) -> tuple[Step, ...]:
    """Return the steps, without those that only name a variable which is shown elsewhere."""
    return tuple(
        each._replace(children=_without(each.children, names))
        for each in steps
        if each.text not in names or each.children or each.deciding
    )


_SIGNS = {"add": ("+", "green"), "remove": ("-", "red"), "replace": ("~", "yellow")}


def title(each: Steps, story: PolicyStory) -> str:
    """Return a title like ``validations[0]``, with the name of the entry if it has one."""
    title = each.label.removeprefix("spec.").removesuffix(".expression")
    field, index = title.partition("[")[0], _index(each.label)
    entries = (story.document.raw.get("spec") or {}).get(field) or []
    entry = entries[index] if index < len(entries) else {}
    name = entry.get("name") or entry.get("key") if isinstance(entry, dict) else ""
    return f"{title} {name}" if name else title


def unenforced(finding: Finding, story: PolicyStory) -> str:
    """Return why a violation does not deny although the rollout enforces the policy."""
    if not finding.rollout or story.held:
        return ""
    return styled(f"  (not enforced: {finding.rollout})", dim=True)


def _name_of(param: JSON) -> str:
    metadata = param.get("metadata") or {}
    names = [str(metadata[key]) for key in ("namespace", "name") if metadata.get(key)]
    return "/".join(names) or "defined in the policy"


def _index(label: str) -> int:
    """Return the index in a label like ``spec.validations[0].expression``."""
    return int(label.partition("[")[2].partition("]")[0] or 0)
