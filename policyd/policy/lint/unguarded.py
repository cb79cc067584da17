"""Advice on expressions that are errors for objects without a field, or without an object, or whose
field is null.

A field that may be absent needs a guard: ``has(a.b) && a.b …``, ``!has(a.b) || …``,
``a.?b.orValue(…)``, ``'x' in m && m['x'] …``, an enclosing condition, an earlier filter. ``guards``
reads such conditions; this module walks each expression with their results. In CEL the other side
of ``&&`` and ``||`` absorbs an error, so a guard may be on either side. Paths of JSON Patches need
guards as well (``mutations/parents``).

A field that may be null needs ``a.b != null && a.b …``: for CEL it is there.

Fields are the fields of the kinds that ``type_check`` checks. Only certain errors are reported.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from policyd.cel.syntax.ast import Call, Checked, Comprehension, Expr, Literal, Select, StructExpr
from policyd.cel.syntax.recursion import children
from policyd.cel.syntax.unparse import unparse
from policyd.cel.types.types import DYN, Kind
from policyd.json_types import FieldPath
from policyd.mutation.schemas.schemas import ANY_KIND
from policyd.policy.lint.guards.cases import cases, in_no_namespace
from policyd.policy.lint.guards.field_presence import PRESENT, RequestCase
from policyd.policy.lint.guards.forms import NOT_NULL, Place, Places, either, is_null
from policyd.policy.lint.mutations.failing import FRAGILE
from policyd.policy.lint.mutations.parents import WrittenParts, missing_parts
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import KindTypes
from policyd.policy.model.expressions import (
    CONDITION,
    MESSAGE,
    MUTATIONS,
    VALIDATION,
    VARIABLE,
    PolicyExpression,
)
from policyd.policy.model.findings import FormProblem

FIELD, NULL = "unguarded-field", "null-object"
_EQUALITY = {"_==_": "!", "_!=_": ""}  # with null: whether a field is missing, or there
_FOR_NULL = frozenset(("_==_", "_!=_", "@in", "dyn", "type"))  # what accepts null
# What is known of an object of a read.
_STORED = {("item",): PRESENT, ("request", "operation"): "READ"}
_MAX_STEPS = 50_000  # of one policy and kind: variables of variables may double at each level


def unguarded(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy; of an expression with errors there is none, which could
    contradict their remedies.
    """
    compiled = {each.path for each, _ in policy.compiled}
    hits: dict[tuple[str, FieldPath, int | None], tuple[FormProblem, set[str]]] = {}
    reported: set[str] = set()
    found = [(types.gvk, _Walk(policy, types, case).policy_hits()) for types, case in cases(policy)]
    for key, types in policy.read_keys():
        walk = _Walk(policy, types, RequestCase({}, _STORED, types.lacks))
        found.append((types.gvk, walk.key_hits(key)))
    for gvk, of_kind in found:
        kind = "" if gvk is None or gvk == ANY_KIND else gvk.label
        reported.add(kind)
        for hit in of_kind:
            hits.setdefault((hit.rule, hit.path, hit.pos), (hit, set()))[1].add(kind)
    for hit, kinds in hits.values():
        if hit.path in compiled:
            named = sorted(kinds - {""})
            where = "" if named == sorted(reported - {""}) else f" ({', '.join(named)})"
            yield replace(hit, message=hit.message + where)


class _Walk:
    """Walks the expressions of a policy, for objects of one kind and for one operation."""

    def __init__(self, policy: LintedPolicy, types: KindTypes, case: RequestCase) -> None:
        self._policy = policy
        self._types = types
        self._case = case
        self._text: PolicyExpression
        self._checked: Checked
        self._found: list[FormProblem] = []
        self._seen: set[tuple[str, Places]] = set()
        self._missing: set[Place] = set()
        # By id(), as nodes are numbered within one expression.
        self._compared: dict[int, str] = {}  # operands of == null and != null: "!" or ""
        self._used: set[int] = set()  # what must not be null
        self._steps = 0
        self._variables = {each.name: each for each in policy.of_role(VARIABLE)}

    @cached_property
    def _written(self) -> WrittenParts:
        patches = self._policy.of_role(*MUTATIONS.values())
        trees = [tree for each in patches if (tree := self._types.checked(each.text))]
        return WrittenParts.of(self._policy, [tree.expr for tree in trees])

    def key_hits(self, key: PolicyExpression) -> list[FormProblem]:
        """Return the possible errors of the key of a read."""
        self._expression(key, self._present())
        return self._found

    def policy_hits(self) -> list[FormProblem]:
        """Return the possible errors of all expressions but keys."""
        there = self._conditions()
        if there is not None:
            there |= self._present()
            self._validations(there)
            if self._case.known["request", "operation"] != "DELETE":
                for each in self._policy.of_role(*MUTATIONS.values()):
                    self._expression(each, there)
        return self._found

    def _conditions(self) -> Places | None:
        """Return the places that the matchConditions guard; None if they exclude this case."""
        conditions = self._policy.of_role(CONDITION)
        checked = [self._types.checked(each.text) for each in conditions]
        if any(each and self._case.decide(each.expr) is False for each in checked):
            return None
        held = [self._case.holding(each.expr, True) if each else Places() for each in checked]
        case = self._case
        known = {**case.known, ("namespaceObject",): None}
        self._case = RequestCase(case.variables, known, case.lacks)
        for index, condition in enumerate(conditions):
            others = held[:index] + held[index + 1 :]
            self._expression(condition, self._present().union(*others))
        self._case = case
        return Places().union(*held)

    def _present(self) -> Places:
        """Return the places that every request has."""
        return frozenset(each for each, value in self._case.known.items() if value is PRESENT)

    def _validations(self, there: Places) -> None:
        messages = {each.path[:-1]: each for each in self._policy.of_role(MESSAGE)}
        for validation in self._policy.of_role(VALIDATION):
            checked = self._types.checked(validation.text)
            self._expression(validation, there)
            if checked is None:
                continue
            message = messages.get(validation.path[:-1])
            if message is not None and self._case.decide(checked.expr) is not True:
                failed = there | self._case.holding(checked.expr, False)
                self._expression(message, failed)
            # If an earlier validation is false or an error, the request is denied anyway.
            there |= self._case.holding(checked.expr, True)

    def _expression(self, text: PolicyExpression, there: Places) -> None:
        self._missing.clear()
        checked = self._types.checked(text.text)
        if checked is not None:
            self._text, self._checked = text, checked
            self._visit(checked.expr, there)

    def _visit(self, node: Expr, there: Places) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return
        variable = self._case.variable(node)
        self._used |= _needed(node, id(node) in self._used)
        match node:
            case Select() if variable is not None:
                self._variable(node.field, variable, there)
                self._null_value(node, there)
            case Select():
                self._visit(node.operand, there)
                self._read(node, node.operand, node.field, there)
            case Call(function="_[_]", args=(of, Literal(value=str() as name))):
                self._visit(of, there)
                self._read(node, of, name, there)
            case Call(function="_[_]", args=(of, key)):
                self._visit(of, there)
                self._visit(key, there)
                self._null(node, of)
            case Call(function="_&&_" | "_||_", args=(left, right)):
                truth = node.function == "_&&_"
                for side, beside in ((left, right), (right, left)):
                    # It matters only if the other does not decide the outcome.
                    if self._case.decide(beside) is not (not truth):
                        self._visit(side, there | self._case.holding(beside, truth))
            case Call(function="_?_:_", args=(condition, then, other)):
                self._branches(condition, then, other, there)
            case Comprehension():
                self._loop(node, there)
            case _:
                if isinstance(node, Call) and any(map(is_null, node.args)):
                    negated = _EQUALITY.get(node.function)
                    if negated is not None:
                        self._compared |= dict.fromkeys(map(id, node.args), negated)
                for child in children(node):
                    self._visit(child, there)
                if isinstance(node, StructExpr) and node.type_name == "JSONPatch":
                    self._operation(node, there)
                self._null_value(node, there)

    def _operation(self, node: StructExpr, there: Places) -> None:
        for part in missing_parts(node, self._types, self._case.key, there, self._written):
            if part.place not in self._missing:  # once for each expression
                self._missing.add(part.place)
                self._report(FRAGILE, part.node, part.message, part.hint)

    def _branches(self, condition: Expr, then: Expr, other: Expr, there: Places) -> None:
        """Visit a conditional: each branch that can be reached, with what the condition guards."""
        self._visit(condition, there)
        settled = self._case.decide(condition)
        for branch, outcome in ((then, True), (other, False)):
            if settled is not (not outcome):
                held = self._case.holding(condition, outcome)
                self._visit(branch, there | held)

    def _variable(self, name: str, checked: Checked, there: Places) -> None:
        """Visit the variable's expression with the guards of its use."""
        outside = frozenset(place for place in there if not place[0].startswith("@"))
        if (name, outside) not in self._seen:
            self._seen.add((name, outside))
            here = self._text, self._checked, self._case
            self._text, self._checked, self._case = self._variables[name], checked, here[2].outside
            self._visit(checked.expr, outside)
            self._text, self._checked, self._case = here

    def _loop(self, node: Comprehension, there: Places) -> None:
        self._visit(node.iter_range, there)
        self._visit(node.accu_init, there)
        name = node.iter_var2 or node.iter_var
        here: Place = (f"@{node.id}",)
        names: dict[str, Place] = {node.iter_var: (f"@{node.id}.key",), name: here}
        bound = self._case.place(node.accu_init)
        names[node.accu_var] = bound or (f"@{node.id}.result",)
        there |= self._case.within(node.iter_range, here)
        around = self._case
        self._case = around.inside(names, {here[0]: around.sources(node.iter_range)})
        for part in (node.loop_condition, node.loop_step, node.result):
            self._visit(part, there)
        self._case = around

    def _null(self, node: Expr, of: Expr) -> bool:
        """Report a field of an object that is null in this operation."""
        place = self._case.place(of)
        if place is None or self._case.known.get(place, PRESENT) is not None:
            return False
        operation = self._case.known["request", "operation"]
        when, requests = f"on {operation}", f"{operation} request"
        matched = {each for rule in self._policy.rules for each in rule.operations}
        if place == ("object",) and matched == {"DELETE"}:
            hint = "write oldObject, which is the object that is deleted"
        elif place == ("object",):
            hint = "write request.operation != 'DELETE' && …, or use oldObject"
        elif place == ("namespaceObject",):
            if self._text.role is CONDITION:
                when, hint = "in matchConditions", "write a namespaceSelector or a validation"
            else:
                gvk, hint = self._types.gvk, "write namespaceObject == null || …"
                when = f"for {gvk.label}" if gvk is not None else "outside of namespaces"
            requests = "request"
        elif matched <= {"CREATE", "CONNECT"}:
            hint = "write object: only UPDATE and DELETE have an oldObject"
        else:
            hint = (
                "write oldObject == null || …, or add matchCondition request.operation == 'UPDATE'"
            )
        self._report(NULL, node, f"{place[0]} is null {when}, so every {requests} errors", hint)
        return True

    def _read(self, node: Expr, of: Expr, name: str, there: Places) -> None:
        if (isinstance(node, Select) and node.test_only) or self._null(node, of):
            return
        place = self._case.place(node)
        if place is None:
            return
        whole = self._case.whole(place)
        if any(each[0] == "params" for each in whole):
            return  # the author of the params knows the policy
        kind = self._checked.types.get(of.id, DYN)
        is_map = kind.kind is Kind.MAP
        if is_map and self._case.is_made(place[0]):
            return  # the expression builds the map itself
        open_ones = set[Place]() if place in there else set(whole) - there
        # Objects of several kinds in one list are maps for the type checker, their members dyn.
        known = all(self._types.objects.is_object(self._types.type_at(each[:-1])) for each in whole)
        if known and kind.kind in (Kind.MAP, Kind.DYN):
            is_map, lacks = False, any(map(self._types.may_lack, open_ones))
        else:
            lacks = self._types.objects.may_lack(kind, name) or self._request_lacks(place)
        if open_ones and (is_map or lacks):
            self._may_be_missing(node, unparse(of), name, is_map=is_map)
        else:
            self._null_value(node, there)

    def _null_value(self, node: Expr, there: Places) -> None:
        """Report a value that may be null where it must not be."""
        place = self._case.place(node) if id(node) in self._used else None
        if place is None or _never_null(node) or (*place, NOT_NULL) in there:
            return
        whole = self._case.whole(place)
        if any(self._types.may_be_null(each) and (*each, NOT_NULL) not in there for each in whole):
            text = unparse(node)
            self._report(FIELD, node, f"{text} may be null", f"write {text} != null && …")

    def _may_be_missing(self, node: Expr, text: str, name: str, *, is_map: bool) -> None:
        """Report a key of a map, or a field, that no guard in front of it finds to be there."""
        key = f"'{name}'"
        member, test, optional = (
            (f"{text}[{key}]", f"{key} in {text}", f"{text}[?{key}]")
            if is_map
            else (f"{text}.{name}", f"has({text}.{name})", f"{text}.?{name}")
        )
        negated = self._compared.get(id(node))
        if negated is None:
            hint = f"write {either(test, optional, self._checked.types[node.id])}"
        else:
            hint = f"write {negated}{f'({test})' if negated and is_map else test}"
        if is_map and name == "items" and text.startswith("reads."):
            hint = f"write {text}[?KEY].orValue([]) for the objects with a key"
        self._report(FIELD, node, f"{member} may be missing", hint)

    def _request_lacks(self, place: Place) -> bool:
        """Whether some requests lack this field."""
        if place == ("request", "namespace"):
            return self._types.gvk is not None and in_no_namespace(self._types.gvk)
        if place in (("request", "subResource"), ("request", "requestSubResource")):
            return any(
                "/" not in resource for rule in self._policy.rules for resource in rule.resources
            )
        return place == ("request", "userInfo", "extra")

    def _report(self, rule: str, node: Expr, message: str, hint: str) -> None:
        self._found.append(self._text.finding(node.pos, rule, message, hint))


def _needed(node: Expr, used: bool) -> set[int]:
    """Return the operands that must not be null, by id(); ``used``: nor must the node."""
    match node:
        case Select(operand=of) | Call(function="_[_]", args=(of, _)):
            return {id(of)}
        case Comprehension():
            return {id(node.iter_range)}
        case Call(function="_?_:_", args=(_, then, other)):
            return {id(then), id(other)} if used else set()
        case Call(function=function) if function not in _FOR_NULL:
            return set(map(id, children(node)))
    return set()


def _never_null(node: Expr) -> bool:
    """Whether a node reads a place, but its value is a boolean or an optional."""
    tests = isinstance(node, Select) and node.test_only
    return tests or (isinstance(node, Call) and node.function in ("_?._", "_[?_]"))
