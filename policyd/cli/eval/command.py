"""``policyd eval``: evaluates CEL expressions against JSON or YAML. Evaluates no policy."""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import click
import orjson

from policyd._core.eval.estimates import CALL_LIMIT
from policyd._core.eval.program import Program, type_of
from policyd._core.values.errors import CelError
from policyd.admission.lookups.authorizer import Authorizer
from policyd.bounded_text import encodable
from policyd.cel.env import Environment
from policyd.cel.estimate.cost import estimate
from policyd.cel.estimate.sizes import measured
from policyd.cel.types.types import DYN
from policyd.cli.eval.common import compile_error, declaring, error_text, estimate_text, values_of
from policyd.cli.shared.authorizer import AUTHORIZER, UserAuthorizer
from policyd.cli.shared.output import answer_lines, styled
from policyd.cli.shared.request import content, name_of
from policyd.cli.shared.settings import GROUP_NAME, USER_NAME, option
from policyd.cli.shared.values import to_json
from policyd.cli.shared.version import version_option
from policyd.errors import BudgetExceeded, CelCompileError, PolicySchemaError
from policyd.json_types import JSONObject
from policyd.mutation.schemas.typed_variables import typed_variables
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.policy.source.loader import read_one
from policyd.versions import NEWEST, SPAN, KubernetesVersion, supported

_EPILOG = """\b
Examples:
  policyd eval '1 + 2'
  policyd eval --load pod.yaml
  policyd eval --cost 'object.spec.containers.all(c, c.image != "")' pod.yaml
  policyd eval 'object.spec.containers.map(c, c.image)' pod.yaml
  kubectl get pod web -o json | policyd eval \\
      'object.spec.containers.all(c, has(c.resources.limits))' -
  policyd eval 'object.x < limit' --var 'object={"x": 1}' --var limit=10
  policyd eval --reads policy.yaml --reads ingresses.yaml \\
      '"shop.example.com" in reads.ingresses'
  policyd eval --authorizer rules.yaml --user bob \\
      'authorizer.group("apps").resource("deployments")
      .check("create").allowed()'
  echo '{"expression": "1 + x", "variables": {"x": 2}}' | policyd eval --jsonl

\b
An interactive session (policyd eval without EXPRESSION):
  cel> object.spec.containers.map(c, c.image)
  ["nginx:1.27"]
  list, cost 17
  cel> object.spec.contaners
  error: no such key: contaners
   | object.spec.contaners
   | ...........^
    hint: did you mean containers?

\b
Lines of --jsonl, one JSON object each:
  in   {"expression": CEL, "variables": {NAME: JSON}}
       optional: "mode": "vap" types request and namespaceObject as in
       validating policies, "mode": "map" as in mutating policies (Object{…},
       JSONPatch{…});
       "version": "1.36" sets the Kubernetes version of this line
  out  {"value": JSON, "type": "int", "cost": 3}
       {"error": STRING, "stage": "compile", "run" or "question"}
       with --cost also "estimate": {"min": 2, "max": 12}
Values that JSON lacks are printed as CEL's string() converts them.

Exit status: 0 for a value, 1 for a run-time error, 2 if the expression does not compile. With
--jsonl, 0: errors are part of the answers.
"""
# "": every function, untyped variables; "vap", "map": the environments of these policies.
MODES = ("", "vap", "map")
_NO_AUTHORIZER = "no such attribute(s): authorizer"
_AUTHORIZER_HINT = "set the answers of authorizer checks with --authorizer FILE"


@click.command("eval", epilog=_EPILOG)
@click.argument("expression", required=False)
@click.argument("file", required=False, type=click.File("rb"))
@option("--var NAME=JSON...", "Set a variable; may be repeated.", to="variables")
@option(
    "--cost",
    "Also print the cost in Kubernetes' units and the estimate for data of this size.",
    to="with_cost",
)
@option(
    "--load FILE",
    "Load `object` from this file; use it to start a session without EXPRESSION.",
    type=click.File("rb"),
)
@option(
    "--reads PATH...",
    "Read other objects from this file or directory, as the reads of the policies in it, or "
    "else as lists by resource: reads.ingresses. May be repeated.",
)
@option("--jsonl", "Read expressions and print values as one JSON object per line.")
@AUTHORIZER
@option(
    "--user NAME",
    "Set the user that the authorizer checks.  [default: the user of `request`]",
    type=USER_NAME,
)
@option(
    "--group NAME...", "Add a group of the user; may be repeated.", to="groups", type=GROUP_NAME
)
@version_option()
def command(
    *,
    expression: str | None,
    file: BinaryIO | None,
    variables: tuple[str, ...],
    with_cost: bool,
    load: BinaryIO | None,
    reads: tuple[Path, ...],
    jsonl: bool,
    authorizer: Authorizer | None,
    user: str | None,
    groups: tuple[str, ...],
    version: KubernetesVersion,
) -> None:
    """Evaluate a CEL EXPRESSION with every function that Kubernetes has.

    The content of FILE (JSON or YAML; - is standard input) is the variable `object`. The value is
    printed as JSON.

    Without EXPRESSION, in a terminal, policyd starts an interactive session: it completes fields
    and functions, keeps a history, prints each value with its type and cost, and marks the place of
    an error. Enter :help for its commands.
    """
    given = dict(_variable(text) for text in variables)
    if authorizer is None and (user or groups):
        raise click.UsageError("--user and --group require --authorizer")
    user_authorizer = UserAuthorizer(authorizer, user, groups) if authorizer is not None else None
    for source in (load, None if jsonl else file):
        if source is not None:
            given["object"] = read_one(content(source), name_of(source))
    if reads:
        from policyd.cli.eval.reads import read_variables  # which compiles policies

        given.update(read_variables(reads, given, version))
    if jsonl:
        options: JSONObject = {"with_cost": with_cost, "user_authorizer": user_authorizer}

        def evaluated(
            text: str, variables: JSONObject, *, mode: str, version: KubernetesVersion
        ) -> JSONObject:
            values = {**given, **variables}
            typing = typed_variables(values, version)
            return evaluate(text, values, mode=mode, version=version, typing=typing, **options)

        defaults: JSONObject = {"expression": expression, "variables": {}, "version": str(version)}
        lines = file or sys.stdin.buffer
        answer_lines(lines, lambda line: _answer_line(line, defaults, evaluated))
        return
    if expression is None:
        _run_session(given, user_authorizer, version)
        return
    expression = encodable(expression)  # Go reads bytes that are not UTF-8 in the same way
    try:
        _environment(frozenset(given), "", version).compile(expression)
    except CelCompileError as error:
        click.echo(compile_error(error), err=True)
        raise SystemExit(2) from None
    typing = typed_variables(given, version)
    common: JSONObject = {"user_authorizer": user_authorizer, "version": version, "typing": typing}
    answer = evaluate(expression, given, with_cost=with_cost, **common)
    if "estimate" in answer:
        click.echo(_cost_text(answer), err=True)
    if "error" in answer:
        click.echo(_failure(answer, expression, given, user_authorizer, version), err=True)
        if user_authorizer is None and _NO_AUTHORIZER in answer["error"]:
            click.echo(f"  {styled('hint', fg='cyan')}: {_AUTHORIZER_HINT}", err=True)
        raise SystemExit(1)
    click.echo(json_bytes(answer["value"]))


def _failure(
    answer: JSONObject,
    expression: str,
    given: JSONObject,
    user_authorizer: UserAuthorizer | None,
    version: KubernetesVersion,
) -> str:
    """Return an error, with its place in the expression unless a limit ended the evaluation."""
    if "cost" not in answer:
        return error_text(answer["error"])
    from policyd.cli.eval.session import Session  # which traces

    return "\n".join(Session(given, user_authorizer, version=version).answer(expression))


def _run_session(
    given: JSONObject, user_authorizer: UserAuthorizer | None, version: KubernetesVersion
) -> None:
    """Start an interactive session, if standard input is a terminal."""
    if not sys.stdin.isatty():
        raise click.UsageError("Missing argument 'EXPRESSION' (or --jsonl).")
    from policyd.cli.eval.repl import repl
    from policyd.cli.eval.session import Session

    repl(Session(given, user_authorizer, version=version))


def _cost_text(answer: JSONObject) -> str:
    limit, estimated = f"{CALL_LIMIT:,} units", answer["estimate"]
    cost = f"{answer['cost']:,} of {limit}" if "cost" in answer else f"more than {limit}"
    return f"cost: {cost}; {estimate_text(estimated['min'], estimated['max'])}"


def _variable(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise click.BadParameter(f"expected NAME=JSON, got {text!r}", param_hint="--var")
    try:
        return name, read_one(value, f"--var {name}")
    except PolicySchemaError as error:
        raise click.BadParameter(str(error), param_hint="--var") from None


def _answer_line(
    line: bytes, defaults: JSONObject, evaluated: Callable[..., JSONObject]
) -> JSONObject:
    """Return the answer to a line; ``defaults``: of its fields."""
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return {"error": f"not JSON at column {error.colno}: {error.msg}", "stage": "question"}
    if not isinstance(message, dict):
        return {"error": "expected a JSON object", "stage": "question"}
    message = {**defaults, **message}
    text, variables = message["expression"], message["variables"]
    if not isinstance(text, str) or not isinstance(variables, dict):
        wrong = "expected expression to be a string and variables to be an object"
        return {"error": wrong, "stage": "question"}
    mode = message.get("mode") or ""
    if mode not in MODES:
        return {"error": f"expected mode to be {' or '.join(MODES[1:])}", "stage": "question"}
    try:
        version = supported(message["version"])
    except (TypeError, ValueError, AttributeError):
        return {"error": f"expected version to be a string from {SPAN}", "stage": "question"}
    return evaluated(text, variables, mode=mode, version=version)


def evaluate(
    expression: str,
    variables: Mapping[str, Any],
    *,
    with_cost: bool = False,
    user_authorizer: UserAuthorizer | None = None,
    mode: str = "",
    version: KubernetesVersion = NEWEST,
    typing: object = None,
) -> JSONObject:
    """Return ``{value, type, cost}`` of an expression, or ``{error, stage}``.

    ``with_cost`` adds ``estimate`` if the expression compiles. ``user_authorizer`` provides
    ``authorizer``. ``mode`` is one of ``MODES``. ``typing`` says which variables are
    Go's values (``typed_variables``).
    """
    environment = _environment(frozenset(variables), mode, version)
    try:
        program = environment.compile(expression)
    except CelCompileError as error:
        return {"error": error.text.removeprefix("compilation failed: "), "stage": "compile"}
    answer = run(program, values_of(variables, user_authorizer), typing)
    if with_cost:
        checked, sizes = environment.check(expression), measured(values_of(variables, None))
        answer["estimate"] = estimate(checked, sizes, dyn_fields=True)._asdict()
    return answer


def run(program: Program, given: JSONObject, typing: object = None) -> JSONObject:
    """Return ``{value, type, cost}`` of a program, or ``{error, stage}``."""
    try:
        value, cost = program.evaluate_with_cost(given, typing=typing)
    except BudgetExceeded as exceeded:
        return {"error": str(exceeded), "stage": "run"}
    if isinstance(value, CelError):
        return {"error": value.message, "stage": "run", "cost": cost}
    return {"value": to_json(value), "type": type_of(value), "cost": cost}


@cache
def _environment(names: frozenset[str], mode: str, version: KubernetesVersion) -> Environment:
    environment = Environment.kubernetes(version)
    if mode:
        environment = Environment.admission(
            params=True, authorizer=True, patch_types=mode == "map", version=version
        ).extend({"variables": DYN})
    return declaring(environment, names)
