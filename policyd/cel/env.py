"""Environments: the declarations that an expression may use, and its compilation to a program.

An environment is immutable; methods that change it return a new one. Error messages are
Kubernetes': ``compilation failed: ERROR: …``, ``must evaluate to bool but got dyn``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd.cel.check.checker import check, check_all
from policyd.cel.check.validators import validate
from policyd.cel.plan.planner import plan
from policyd.cel.syntax.ast import Call, Checked, Literal
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import deep_recursion
from policyd.cel.syntax.source import Source
from policyd.cel.types.declarations import OverloadDecl, Scope, group, parse_signature
from policyd.cel.types.functions import functions, in_order
from policyd.cel.types.structs import ADMISSION, NAMESPACE, REQUEST, VARIABLES, Structs
from policyd.cel.types.types import DYN, Type
from policyd.errors import CelCompileError, CelSyntaxError, CelTypeError, EvaluationError, Problem
from policyd.versions import NEWEST, KubernetesVersion

AUTHORIZER = Type("kubernetes.authorization.Authorizer")
RESOURCE_CHECK = Type("kubernetes.authorization.ResourceCheck")
# Only mutations may use these functions.
_PATCHES_ONLY = "jsonpatch."


@dataclass(frozen=True, slots=True)
class Environment:
    """The declarations of one version of Kubernetes."""

    variables: Mapping[str, Type] = field(default_factory=dict)
    structs: Structs = field(default_factory=lambda: Structs({}))
    patch_types: bool = False
    version: KubernetesVersion = NEWEST

    @classmethod
    def kubernetes(cls, version: KubernetesVersion = NEWEST) -> "Environment":
        """Return every library and untyped admission variables: for ``policyd eval``."""
        names = ("object", "oldObject", "request", "namespaceObject", "params", "variables")
        variables = dict.fromkeys(names, DYN) | _authorizer()
        return cls(variables, Structs({}, patches=True), patch_types=True, version=version)

    @classmethod
    def admission(
        cls,
        *,
        params: bool = False,
        authorizer: bool = False,
        patch_types: bool = False,
        version: KubernetesVersion = NEWEST,
    ) -> "Environment":
        """Return the environment of a policy's expressions (k8s-semantics 1.1, 1.5)."""
        return _admission(params, authorizer, patch_types, version)

    def extend(self, variables: Mapping[str, Type]) -> "Environment":
        """Add variables."""
        return replace(self, variables={**self.variables, **variables})

    def declaring(self, fields: dict[str, Type]) -> "Environment":
        """Declare ``variables.NAME`` for each name of ``fields``, also for names added later: each
        variable of a policy sees the variables before it.
        """
        structs = Structs({**self.structs.known, VARIABLES.name: fields}, self.structs.patches)
        variables = {**self.variables, "variables": VARIABLES}
        return Environment(variables, structs, self.patch_types, self.version)

    def check(self, text: str, *, expect: tuple[Type, ...] = ()) -> Checked:
        """Return the checked expression; its type is one of ``expect``, or any if that is empty.

        Raises CelSyntaxError or CelTypeError.
        """
        try:
            with deep_recursion():
                checked = check(text, parse(text, self.version), self.scope())
                issues = validate(checked, self._fails)
            if issues:
                raise Source(text).error(CelTypeError, issues)
        except CelCompileError as error:
            problems = self._explained(text, error)
            raise type(error)(f"compilation failed: {error.text}", problems) from None
        found = checked.result_type
        if expect and found not in expect:
            raise _unexpected(checked, expect)
        return checked

    def _explained(self, text: str, error: CelCompileError) -> list[Problem]:
        # Imported here because most servers never need a hint.
        from policyd.cel.hints.explaining import syntax_explained, types_explained
        from policyd.cel.hints.tree import Tree

        def tree() -> Tree:
            scope = self.scope()
            return Tree.of(check_all(text, parse(text, self.version), scope)[0], scope)

        if isinstance(error, CelSyntaxError):
            return syntax_explained(text, error.problems)
        return types_explained(text, error.problems, tree)

    def compile(
        self, text: str, *, expect: tuple[Type, ...] = (), layout: Layout | None = None
    ) -> Program:
        """Return the program of an expression; it raises the errors of ``check`` and constant
        folding.

        Programs that are evaluated together, such as the programs of a policy, share a layout.
        """
        return plan(self.check(text, expect=expect), layout or Layout())

    def scope(self) -> Scope:
        """Return the scope in which names are resolved."""
        declared = _functions(self.version, self.patch_types)
        return Scope(self.variables, declared, self.structs, version=self.version)

    def _fails(self, function: str, values: tuple[object, ...]) -> bool:
        """Return whether a call on literals fails in the run-time library."""
        args = tuple(Literal(number, 0, value) for number, value in enumerate(values, 2))
        checked = check("", Call(1, 0, function, None, args), self.scope())
        try:
            plan(checked, Layout()).evaluate({})
        except (EvaluationError, CelCompileError):
            return True
        return False


def _authorizer() -> dict[str, Type]:
    return {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}


@cache
def _admission(
    params: bool, authorizer: bool, patch_types: bool, version: KubernetesVersion
) -> Environment:
    variables = {"object": DYN, "oldObject": DYN, "namespaceObject": NAMESPACE, "request": REQUEST}
    if params:
        variables["params"] = DYN
    if authorizer:
        variables |= _authorizer()
    structs = Structs(ADMISSION, patches=patch_types)
    return Environment(variables, structs, patch_types=patch_types, version=version)


@cache
def _functions(
    version: KubernetesVersion, patch_types: bool
) -> Mapping[str, tuple[OverloadDecl, ...]]:
    """Return the functions of a version; those for patches only for mutations."""
    return group(
        in_order(
            parse_signature(row.signature, row.name, row.id)
            for row in functions(version).by_id.values()
            if patch_types or not row.name.startswith(_PATCHES_ONLY)
        )
    )


def _unexpected(checked: Checked, expect: tuple[Type, ...]) -> CelTypeError:
    found = checked.result_type
    wanted = str(expect[0]) if len(expect) == 1 else f"one of [{' '.join(map(str, expect))}]"
    message = f"must evaluate to {wanted} but got {found}"
    from policyd.cel.hints.results import result_hint

    hint = result_hint(checked.expr, found, expect)
    excerpt = Source(checked.text).marked(0)
    problem = Problem(message, line=1, column=1, hint=hint, excerpt=excerpt, rule="cel")
    return CelTypeError(message, [problem])
