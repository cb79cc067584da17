"""The CEL expressions of one policy, compiled over one layout of slots; every error with its place.

Judges nothing.
"""

from collections.abc import Sequence
from functools import partial

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd._core.eval.tracing import Tracer
from policyd._core.plan.plan import ROOTS, Frame
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Checked
from policyd.cel.trace.tracing import plan_traced
from policyd.cel.types.types import BOOL, JSON_PATCH, NULL, OBJECT, STRING, Type, list_of
from policyd.errors import CelCompileError, Problem
from policyd.policy.source.documents import Document
from policyd.versions import NEWEST, KubernetesVersion

# What the expressions of each field must evaluate to (k8s-semantics: required result types).
RESULTS: dict[str, tuple[Type, ...]] = {
    "condition": (BOOL,),
    "validation": (BOOL,),
    "message": (STRING,),
    "annotation": (STRING, NULL),
    "variable": (),
    "JSONPatch": (list_of(JSON_PATCH),),
    "ApplyConfiguration": (OBJECT,),
}


class Expressions:
    """Compiles the expressions of one document and collects what is wrong with them. With a
    ``tracer`` their evaluations are recorded.
    """

    def __init__(
        self,
        document: Document,
        *,
        has_params: bool,
        version: KubernetesVersion = NEWEST,
        tracer: Tracer | None = None,
    ) -> None:
        self.document = document
        self._tracer = tracer
        self.problems: list[Problem] = []
        self._layout = Layout(ROOTS)
        made = partial(Environment.admission, params=has_params, version=version)
        self._plain = made(authorizer=True)
        self._messages = made(authorizer=False)
        self._patches = made(authorizer=True, patch_types=True)
        self._variables: dict[str, Program] = {}

    @property
    def frame(self) -> Frame:
        """The slots of all expressions compiled so far."""
        layout = self._layout
        sees_namespace = "namespaceObject" in layout.used
        return Frame(layout.size, layout.slots, len(layout.variables), sees_namespace)

    def condition(self, text: str, path: str) -> Program | None:
        """A matchCondition: it cannot see ``variables``."""
        return self._compile(self._plain, text, path, "condition")

    def variable(self, name: str, text: str, path: str) -> None:
        """Declare ``variables.NAME`` for the expressions that come after it."""
        environment = (
            self._plain.with_variables(self._variables) if self._variables else self._plain
        )
        program = self._compile(environment, text, path, "variable", name)
        if program is not None:
            self._layout.define(name, program)
            self._variables[name] = program

    def declared(self) -> None:
        """All variables are declared: everything compiled from now on sees them.

        In Kubernetes only mutations know the name ``variables`` where there are none.
        """
        self._patches = self._patches.with_variables(self._variables)
        if self._variables:
            self._plain = self._plain.with_variables(self._variables)
            self._messages = self._messages.with_variables(self._variables)

    def validation(self, text: str, path: str) -> Program | None:
        """A validation: must be bool."""
        return self._compile(self._plain, text, path, "validation")

    def message(self, text: str, path: str) -> Program | None:
        """A messageExpression: must be string, and cannot use the authorizer."""
        return self._compile(self._messages, text, path, "message")

    def annotation(self, text: str, path: str) -> Program | None:
        """The valueExpression of an audit annotation: string or null."""
        return self._compile(self._plain, text, path, "annotation")

    def mutation(self, patch_type: str, text: str, path: str) -> Program | None:
        """The expression of a mutation: what its patchType applies."""
        return self._compile(self._patches, text, path, patch_type)

    def embedded(self, text: str, path: str) -> tuple[Program | None, Sequence[Problem]]:
        """An expression inside a text of an overlay, of any type; and what is wrong with it, placed
        in the expression: the caller knows where that stands.
        """
        try:
            return self._planned(self._plain.check(text), path), ()
        except CelCompileError as error:
            return None, error.problems

    def close(self) -> None:
        """Nothing more is compiled. Programs hold the variables that they use; a layout that went
        on holding programs would be a cycle, and only a collector of garbage could free a policy.
        """
        self._layout.variables.clear()

    def _compile(
        self, environment: Environment, text: str, path: str, role: str, variable: str = ""
    ) -> Program | None:
        try:
            return self._planned(environment.check(text, expect=RESULTS[role]), path, variable)
        except CelCompileError as error:
            self.problems.extend(self.document.placed(problem, path) for problem in error.problems)
            return None

    def _planned(self, checked: Checked, path: str, variable: str = "") -> Program:
        if self._tracer is None:
            return plan(checked, self._layout)
        return plan_traced(checked, self._layout, self._tracer, label=path, variable=variable)
