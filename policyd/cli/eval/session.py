"""An interactive session of ``policyd eval``: takes lines, returns lines. Touches no terminal."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from policyd._core.eval.layout import Layout
from policyd._core.eval.program import type_of
from policyd._core.eval.tracing import Tracer
from policyd._core.values.errors import CelError
from policyd.bounded_text import encodable
from policyd.cel.env import Environment
from policyd.cel.estimate.cost import estimate
from policyd.cel.estimate.sizes import measured
from policyd.cel.hints.tree import listed, near
from policyd.cel.syntax.ast import Checked
from policyd.cel.syntax.source import Source
from policyd.cel.trace.building import steps
from policyd.cel.trace.steps import Step
from policyd.cel.trace.tracing import plan_traced
from policyd.cli.eval.common import (
    ROOTS,
    compile_error,
    declaring,
    error_text,
    estimate_text,
    values_of,
)
from policyd.cli.shared.authorizer import UserAuthorizer
from policyd.cli.shared.output import counted, styled
from policyd.cli.shared.tree import TreeStyle, tree
from policyd.cli.shared.values import shown, to_json
from policyd.errors import BudgetExceeded, CelCompileError, PolicydError
from policyd.mutation.schemas.typed_variables import typed_variables
from policyd.policy.source.loader import read_one
from policyd.versions import NEWEST, KubernetesVersion

Lines = Iterator[str]


class Session:
    """Holds the variables and answers lines; ``done`` is true after ``:quit``."""

    def __init__(
        self,
        given: Mapping[str, Any],
        user_authorizer: UserAuthorizer | None = None,
        width: int = 100,
        version: KubernetesVersion = NEWEST,
    ) -> None:
        self.variables = dict(given)
        self.width = width
        self.done = False
        self.version = version
        self._user_authorizer = user_authorizer

    def answer(self, line: str) -> Lines:
        """Answer an expression, or a command that begins with a colon."""
        text = encodable(line.strip())  # as an argument of the command
        if not text.startswith(":"):
            yield from self._value(text) if text else ()
            return
        name, _, rest = text.partition(" ")
        command = COMMANDS.get(name)
        if command is None:
            yield error_text(f"unknown command {name}; :help lists the commands")
            return
        try:
            yield from command[1](self, rest.strip())
        except CelCompileError as error:
            yield compile_error(error)
        except PolicydError as error:
            yield error_text(str(error))
        except OSError as error:
            yield error_text(f"{error.filename}: {error.strerror}")

    def compute(self, text: str) -> object:
        """Return the value or CelError of an expression. Raises PolicydError if it does not
        compile.
        """
        return self._run(text)[1]

    @property
    def environment(self) -> Environment:
        """The environment that declares the current variables."""
        return declaring(Environment.kubernetes(self.version), self.variables)

    def _given(self) -> dict[str, Any]:
        return values_of(self.variables, self._user_authorizer)

    def _run(self, text: str) -> tuple[Checked, object, int, Step]:
        checked, tracer = self.environment.check(text), Tracer()
        program = plan_traced(checked, Layout(), tracer)
        typing = typed_variables(self.variables, self.version)
        value, cost = program.evaluate_with_cost(self._given(), typing=typing)
        return checked, value, cost, steps(tracer.take()[0]).root

    def _value(self, text: str) -> Lines:
        try:
            _, value, cost, root = self._run(text)
        except CelCompileError as error:
            yield compile_error(error)
            return
        except BudgetExceeded as exceeded:
            yield error_text(str(exceeded))
            return
        if isinstance(value, CelError):
            yield from run_error(text, value.message, root)
            return
        yield pretty(value, self.width)
        yield styled(f"{type_of(value)}, cost {cost:,}", dim=True)

    def _type(self, text: str) -> Lines:
        yield str(self.environment.check(text).result_type)

    def _cost(self, text: str) -> Lines:
        checked, _, cost, _ = self._run(text)
        least, most = estimate(checked, measured(self._given()), dyn_fields=True)
        yield f"cost {cost:,}, {estimate_text(least, most)} for data of this size"

    def _trace(self, text: str) -> Lines:
        _, value, _, root = self._run(text)
        yield f"{shown(value, self.width)}"
        yield from tree(root.children, 1, TreeStyle(self.width, everything=True))

    def _let(self, text: str) -> Lines:
        name, equals, expression = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier() or expression.startswith("="):
            yield error_text("expected :let NAME = EXPRESSION")
            return
        value = self.compute(expression.strip())
        if isinstance(value, CelError):
            yield error_text(value.message)
            return
        self.variables[name] = value
        yield self._named(name)

    def _load(self, text: str) -> Lines:
        file, _, name = text.partition(" ")
        name = name.strip() or "object"
        if not file or not name.isidentifier():
            yield error_text("expected :load FILE [NAME]")
            return
        self.variables[name] = read_one(Path(file).expanduser().read_bytes(), file)
        yield self._named(name)

    def _vars(self, _: str) -> Lines:
        for name in (*ROOTS, *sorted(set(self.variables) - set(ROOTS))):
            if name in self.variables:
                yield self._named(name)
        unset = [name for name in ROOTS if name not in self.variables]
        yield styled(f"null: {', '.join(unset)}", dim=True)

    def _named(self, name: str) -> str:
        return f"{name} = {shown(self.variables[name], self.width - len(name) - 3)}"

    def _help(self, _: str) -> Lines:
        yield "Enter a CEL expression. Tab completes; an open bracket continues on the next line,"
        yield "and an empty line or a command ends it."
        for name, (usage, _command) in COMMANDS.items():
            head, _, what = usage.partition("  ")
            yield f"  {f'{name} {head}'.rstrip():<24} {what}"

    def _quit(self, _: str) -> Lines:
        self.done = True
        return iter(())


# Name: (arguments, two spaces, description; the method).
COMMANDS: dict[str, tuple[str, Callable[[Session, str], Lines]]] = {
    ":type": ("EXPRESSION  print its static type", Session._type),
    ":cost": ("EXPRESSION  print its cost and the estimate", Session._cost),
    ":trace": ("EXPRESSION  print every subexpression with its value", Session._trace),
    ":let": ("NAME = EXPRESSION  set a variable", Session._let),
    ":load": ("FILE [NAME]  load JSON or YAML as object, or as NAME", Session._load),
    ":vars": ("  list the variables", Session._vars),
    ":help": ("  list the commands", Session._help),
    ":quit": ("  quit (also Ctrl-D)", Session._quit),
}


def pretty(value: object, width: int) -> str:
    """Format a value as JSON: on one line if it fits, else indented."""
    plain = to_json(value)
    line = json.dumps(plain, ensure_ascii=False)
    return line if len(line) <= width else json.dumps(plain, ensure_ascii=False, indent=2)


_NO_KEY = "no such key: "
_NO_ITEM = "index out of bounds"
_MOST = 1000  # fields that are looked at for a key
# Where the value of a variable comes from.
_SOURCES = {
    "object": ": no FILE is given, or it is empty: policyd eval EXPRESSION FILE",
    "variables": ": eval reads no policy; policyd explain -p POLICIES FILE shows its variables",
}
_GIVEN = ": give it with --var '{}={{…}}'"


def run_error(text: str, message: str, root: Step) -> Iterator[str]:
    """Yield a run-time error, the line with a caret below the part that failed, and a hint."""
    yield error_text(message)
    failed, values = _culprit(root)
    yield Source(text).marked(failed.fault)
    hint = ""
    if message.startswith(_NO_KEY):
        hint = _key_hint(message.removeprefix(_NO_KEY), values)
    elif message.startswith(_NO_ITEM):
        counts = (len(each.value) for each in values if isinstance(each.value, list))
        hint = next((f"the list has {counted(n, 'item')}; the first is [0]" for n in counts), "")
    if hint:
        yield f"  {styled('hint', fg='cyan')}: {hint}"


def _culprit(root: Step) -> tuple[Step, list[Step]]:
    """Return the innermost subexpression that is an error, and what it was evaluated with: the
    nearest value first.
    """
    step, around = root, list[Step]()
    while True:
        below = (
            each
            for each in step.children
            if each.failed or (each.round and any(part.failed for part in each.children))
        )
        failed = next(below, None)
        if failed is None:
            return step, [*reversed(step.children), *reversed(around)]
        around += [failed] if failed.round else []
        step = failed


def _key_hint(key: str, values: Iterable[Step]) -> str:
    """Return the remedy for a key that the nearest value does not have."""
    for each in values:
        held = each.value if each.round and isinstance(each.value, list) else [each.value]
        for value in held:
            if value is None:
                source = _SOURCES.get(each.text, _GIVEN.format(each.text))
                return f"{each.text} is null{source if each.text in ROOTS else ''}"
            if not isinstance(value, dict) or key in value:
                continue
            keys = [name for name in value if isinstance(name, str)]
            close = near(key, keys)
            if close:
                return f"did you mean {close}?"
            if path := _below(value, key):
                return f"did you mean {each.text}.{path}?"
            return f"the keys are {listed(keys)}" if keys else "the map is empty"
    return ""


def _below(value: dict[Any, Any], key: str) -> str:
    """Return the path of the nearest key of this name in the maps below; empty if there is none."""
    level, seen = [("", value)], 0
    while level and seen < _MOST:
        below: list[tuple[str, dict[Any, Any]]] = []
        for path, held in level:
            if path and key in held:
                return f"{path}{key}"
            seen += len(held)
            inner = ((name, each) for name, each in held.items() if isinstance(each, dict))
            below += [(f"{path}{name}.", each) for name, each in inner if str(name).isidentifier()]
        level = below
    return ""
