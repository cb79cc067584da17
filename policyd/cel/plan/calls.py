"""Calls: choose the node, and precompute calls that depend only on constants."""

from policyd._core.eval.calls import Call1, Call2, CallMany
from policyd._core.eval.functions import Overload
from policyd._core.eval.logic import InSet
from policyd._core.eval.nodes import Const, Node, Precomputed
from policyd._core.eval.program import compute
from policyd._core.values.errors import CelError
from policyd._core.values.types import MISSING, UInt
from policyd.cel.plan.specialise import specialised
from policyd.errors import CelTypeError, Problem

# The calls that cel-go evaluates at planning time if their argument is a constant.
_CONVERSIONS = frozenset((
    "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint",
))  # fmt: skip
_PRIMITIVES = {bool, int, float, str, UInt}


def refuse(message: str) -> CelTypeError:
    """Return the error of a program that cannot be created."""
    text = f"program instantiation failed: {message}"
    return CelTypeError(text, [Problem(text)])


def all_const(nodes: tuple[Node, ...]) -> bool:
    for node in nodes:
        if not isinstance(node, Const):
            return False
    return True


def membership(value: Node, container: Node) -> Node | None:
    """Return ``x in [literals]`` as a set lookup; None if the list has other elements."""
    if not isinstance(container, Const) or type(container.value) is not list:
        return None
    if not container.value:
        return Const(False)
    if {type(item) for item in container.value} <= _PRIMITIVES:
        return InSet(value, container.value)
    return None


def computed(made: Node, name: str, known: Overload | None, *, since_1_38: bool) -> Node:
    """Precompute a call on constants: a constant where cel-go folds it, else a value with the usual
    charge. Lists and maps are created at run time because they may be large.
    """
    if name in _CONVERSIONS:
        value, _ = compute(made, since_1_38)
        if isinstance(value, CelError):
            raise refuse(value.message)
        return Const(value)
    if known is None or known.signature.rpartition("-> ")[2].startswith(("list", "map")):
        return made
    return Precomputed(*compute(made, since_1_38))


def make_call(
    name: str, overloads: tuple[Overload, ...], arguments: tuple[Node, ...], known: bool
) -> Node:
    count = len(arguments)
    if count == 1:
        return Call1(name, overloads, arguments[0], known)
    if count == 2:
        first, second = arguments
        call = Call2(name, overloads, first, second, known, _prepared(overloads, second))
        return specialised(call, first, second, overloads[0] if known else None)
    prepared = _prepared(overloads, arguments[1]) if count else MISSING
    return CallMany(name, overloads, arguments, known, prepared)


def _prepared(overloads: tuple[Overload, ...], second: Node) -> object:
    """Prepare a constant second argument for the function; MISSING if not prepared."""
    if not isinstance(second, Const):
        return MISSING
    prepared = overloads[0].prepared(second.value)
    if isinstance(prepared, CelError):
        raise refuse(prepared.message)
    return prepared
