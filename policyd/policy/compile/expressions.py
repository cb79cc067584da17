"""Compile the CEL expressions of a policy over one layout of slots; every error has its place.

``policy/model/expressions.py`` lists the expressions. Evaluates nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from sys import intern
from typing import Any

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd._core.eval.tracing import Tracer
from policyd._core.plan.plan import ROOTS, Frame
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked
from policyd.cel.syntax.source import MAX_ERRORS, Source
from policyd.cel.types.structs import variable_type
from policyd.cel.types.types import DYN, Type
from policyd.errors import CelCompileError, Problem
from policyd.json_types import FieldPath, object_in
from policyd.mutation.overlays.tree import LITERAL
from policyd.policy.compile.fields import KeyPath, ReadFields, read_fields, read_of
from policyd.policy.compile.hints import in_policy
from policyd.policy.compile.reads.compiled_reads import INDEX, compiled_read, misplaced, read_type
from policyd.policy.compile.reads.item_fields import ItemFields, names_beside_keys
from policyd.policy.compile.repeated import NO_VARIABLES, RepeatedExpressions
from policyd.policy.model.expressions import (
    CONDITION,
    TEMPLATE,
    VALIDATION,
    VARIABLE,
    ExpressionRole,
    PolicyExpression,
    expressions_of,
    names_in,
)
from policyd.policy.model.reads import PolicyRead
from policyd.policy.source.loaded_documents import Document, string_at
from policyd.versions import NEWEST, TYPED_VALUES, KubernetesVersion


class Expressions:
    """Compiles the expressions of one document and collects their problems. A ``tracer`` records
    their evaluations; ``repeated`` are shared with other documents.
    """

    def __init__(
        self,
        document: Document,
        *,
        has_params: bool,
        params_kind: tuple[str, str, str] | None = None,
        reads: Sequence[PolicyRead] = (),
        version: KubernetesVersion = NEWEST,
        tracer: Tracer | None = None,
        repeated: RepeatedExpressions | None = None,
    ) -> None:
        self.document = document
        self._has_params = has_params
        self._params_kind = params_kind
        self._typed = version.has(TYPED_VALUES)
        self._repeated = repeated or RepeatedExpressions()
        self._tracer = tracer
        self.problems: list[Problem] = []
        self._errors: Counter[FieldPath] = Counter()
        self._left: set[FieldPath] = set()
        # Of a document with problems: lists of which any name may be one.
        lists = ("variables", "reads") if document.problems else ()
        self._unread = [each for each in lists if names_in(document.raw, each) is None]
        self._layout = Layout((*ROOTS, *self._unread))
        self._admission = partial(Environment.admission, params=has_params, version=version)
        self._environments: dict[tuple[bool, bool, bool], Environment] = {}
        # The types of the variables so far, which environments see as it grows.
        self._declared: dict[str, Type] = {}
        self._reads = {
            f"reads.{each.name}": self._read_type(i, each) for i, each in enumerate(reads)
        }
        if "reads" in self._unread:
            self._reads = {"reads": DYN}
        self._version = version
        depths = {name: 2 if each is INDEX else 1 for name, each in self._reads.items()}
        self._items = ItemFields(depths)
        self._keys: dict[FieldPath, frozenset[KeyPath]] = {}
        self._whole: set[str] = set()  # names that are used otherwise than to look up a key
        self._state = NO_VARIABLES
        for name, type_ in self._reads.items():
            self._state = self._repeated.declared(self._state, name, type_)
        self._read: dict[str, ReadFields] = {}
        # What all expressions together read of namespaceObject.
        self.namespace_fields: frozenset[KeyPath] = frozenset()
        self._named: set[str] = set()  # the roots that the expression planned last names
        self._fields: dict[FieldPath, str] = {}
        self._programs: dict[tuple[FieldPath, int], Program] = {}
        self._by_role: dict[ExpressionRole, list[Program]] = {}
        listed = tuple(expressions_of(document.raw))
        self._names = tuple(each.name for each in listed if each.role is VARIABLE)
        named = (names_in(document.raw, "variables") or ()) if document.problems else ()
        for name in set(named).difference(self._names):
            self._define(name, _any_value(), DYN)  # its expression cannot be read
        for each in listed:
            self._compile(each)
        self.report(misplaced(document, reads))
        compiled = enumerate(reads if "reads" not in self._unread else ())
        self.reads = tuple(
            compiled_read(
                each,
                self.program(path := ("spec", "reads", index, "key")),
                self._items.used[f"reads.{each.name}"] | self._keys.get(path, frozenset()),
            )
            for index, each in compiled
        )

    @property
    def frame(self) -> Frame:
        """Return the slots of all expressions."""
        layout = self._layout
        return Frame(
            layout.size,
            layout.slots,
            len(layout.variables),
            layout.used,
            self._typed,
            self._params_kind,
            tuple(
                (slot, each, self._tracer is None and f"reads.{each.name}" not in self._whole)
                for each in self.reads
                if (slot := layout.slots.get(f"reads.{each.name}")) is not None
            ),
        )

    def program(self, path: FieldPath, start: int = 0) -> Program | None:
        """Return the program of the expression at a path and offset in its string; None if there
        is none, or it does not compile.
        """
        return self._programs.get((path, start))

    def field(self, path: FieldPath) -> str:
        """Return the field of the object that the validation at a path is about, or ""."""
        return self._fields.get(path, "")

    def of_role(self, role: ExpressionRole) -> list[Program]:
        """Return the programs of all expressions of a role that compile, in order."""
        return self._by_role.get(role, [])

    def report(self, problems: Iterable[Problem]) -> None:
        """Add problems that are found beside the expressions."""
        self.problems.extend(problems)

    def close(self) -> None:
        """End compilation. Programs refer to the variables that they use; a layout that still
        referred to programs would be a cycle, and only the garbage collector could free a policy.
        """
        self._layout.variables.clear()

    def _compile(self, each: PolicyExpression) -> None:
        if self._errors[each.path] >= MAX_ERRORS:  # in a string of many expressions
            self._leave(each)
            return
        try:
            checked = self._checked(each)
            program = self._planned(checked, each)
        except CelCompileError as error:
            cut = self.document.origin.cut(each.at)
            for problem in self._correctable(each, error.problems):
                hinted = in_policy(problem, each, self._names, cut)
                if "\\" in hinted.hint and self.document.origin.escapes(each.at):
                    hinted = replace(hinted, hint=hinted.hint.replace("\\", "\\\\"))
                outer = _in_string(self.document.raw, each, hinted)
                self.problems.append(self.document.placed(outer, each.at))
            self._errors[each.path] += len(error.problems)
            if each.role is VARIABLE:  # its own problem is reported: not that it is undefined
                self._define(each.name, _any_value(), DYN)
            return
        if "namespaceObject" in each.text and each.role is not CONDITION:  # there it is null
            self.namespace_fields |= read_of("namespaceObject", checked.expr)
        if each.role.item:
            used = ItemFields({"item": 0})
            used.add(checked.expr)
            self._keys[each.path] = frozenset(used.used["item"])
        elif self._reads:
            self._items.add(checked.expr, each.name if each.role is VARIABLE else "")
            self._whole.update(names_beside_keys(checked.expr))
        if each.role is VARIABLE:
            self._define(each.name, program, program.result_type, self._shared(each))
            self._read[each.name] = read_fields(checked.expr, self._read)
        elif each.role is VALIDATION:
            self._fields[each.path] = read_fields(checked.expr, self._read).field
        self._programs[each.path, each.start] = program
        self._by_role.setdefault(each.role, []).append(program)

    def _read_type(self, index: int, read: PolicyRead) -> Type:
        key = object_in(self.document.raw["spec"]["reads"][index]).get("key")
        return read_type(read) if key is None or isinstance(key, str) else DYN

    def _define(self, name: str, program: Program, type_: Type, shared: str | None = None) -> None:
        self._layout.define(name, program, shared)
        self._declared[name] = variable_type(type_)
        self._state = self._repeated.declared(self._state, name, type_)

    def _correctable(
        self, each: PolicyExpression, problems: Sequence[Problem]
    ) -> Sequence[Problem]:
        """Return the problems; without their corrections if the expression does not compile with
        them and with the rows of its mistakes then.
        """
        if not any(problem.fix for problem in problems):
            return problems
        from policyd.cel.hints.explaining import with_corrections  # only for what is wrong

        text, left = each.text, problems
        for _ in range(_ROUNDS):
            before, text = text, with_corrections(text, left)
            if text == before:
                break
            try:
                self._environment(each.role).check(text, expect=each.role.results)
            except CelCompileError as error:
                left = error.problems
            else:
                return problems
        return [replace(problem, fix=None) for problem in problems]

    def _leave(self, each: PolicyExpression) -> None:
        """Report, once for each string, that the rest of its expressions are not compiled."""
        if each.path not in self._left:
            self._left.add(each.path)
            message = f"more than {MAX_ERRORS} errors: the rest of the string is not checked"
            problem = _in_string(self.document.raw, each, Problem(message, line=1, column=1))
            self.problems.append(self.document.placed(problem, each.at))

    def _shared(self, each: PolicyExpression) -> str | None:
        """Return what the value of a variable is known by to other policies that compute the same;
        None if none does, or if it is not the same for all that see the same objects.
        """
        if self._tracer is not None or not self._repeated.repeats(each.text):
            return None
        return intern(each.text) if self._named <= _OBJECTS else None

    def _checked(self, each: PolicyExpression) -> Checked:
        return self._repeated.check(
            each.text,
            each.role,
            self._environment(each.role),
            params=self._has_params,
            variables=self._state,
        )

    def _environment(self, role: ExpressionRole) -> Environment:
        # In Kubernetes only mutations know the name ``variables`` where there are none.
        if role.variables and "variables" in self._unread:
            return self._base(role).extend({"variables": DYN})
        if not role.variables or not (self._declared or role.patches):
            return self._base(role)
        key = (True, role.authorizer, role.patches)
        found = self._environments.get(key)
        if found is None:
            found = self._environments[key] = self._base(role).declaring(self._declared)
        return found

    def _base(self, role: ExpressionRole) -> Environment:
        """Return the environment of a role's expressions without variables."""
        if role.item:
            return Environment({"item": DYN}, version=self._version)
        key = (False, role.authorizer, role.patches)
        found = self._environments.get(key)
        if found is None:
            found = self._admission(authorizer=role.authorizer, patch_types=role.patches)
            if self._reads:
                found = found.extend(self._reads)
            self._environments[key] = found
        return found

    def _planned(self, checked: Checked, each: PolicyExpression) -> Program:
        if each.role.item:
            return plan(checked, Layout(("item",)))
        if self._tracer is None:
            before, self._layout.used = self._layout.used, set()
            try:
                return plan(checked, self._layout)
            finally:
                self._named = self._layout.used
                self._layout.used = before | self._named
        # Imported here because servers trace nothing.
        from policyd.cel.trace.tracing import plan_traced

        variable = each.name if each.role is VARIABLE else ""
        return plan_traced(checked, self._layout, self._tracer, label=each.at, variable=variable)


@cache
def _any_value() -> Program:
    return Environment().compile("dyn(null)")


_OBJECTS = frozenset(("object", "oldObject"))
_ROUNDS = 10  # of corrections: of several mistakes of a kind, the first is reported


def _in_string(raw: Mapping[str, Any], each: PolicyExpression, problem: Problem) -> Problem:
    """Move a problem of an expression to its place in the string that contains it."""
    if each.role is not TEMPLATE:
        return problem
    text = string_at(raw, each.path)
    lines = text[each.start :].split("\n")[: problem.line - 1]
    offset = each.start + sum(len(line) + 1 for line in lines) + problem.column - 1
    literal = "" if "${" in problem.hint else LITERAL
    hint = "; ".join(filter(None, (problem.hint, literal)))
    return replace(Source(text).at(offset, problem), hint=hint)
