"""Name hints: undeclared functions, and fields that a type does not have."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from policyd.cel.hints.globs import instead_of_glob, is_glob
from policyd.cel.hints.tree import Tree, held, listed, near, same_name, shown
from policyd.cel.hints.variable_names import is_bind, of_namespace, type_hint, variable_hint
from policyd.cel.hints.vocabulary import FUNCTIONS, MACROS, REQUEST_FIELDS, alias
from policyd.cel.syntax.ast import Call, Expr, Ident, Literal, Select, StructExpr
from policyd.cel.syntax.macros import INTRODUCED, RECEIVER_MACROS, known_macro
from policyd.cel.syntax.recursion import children, nodes
from policyd.cel.types.functions import declarations
from policyd.cel.types.structs import REQUEST, VARIABLES
from policyd.cel.types.types import Kind, Type, is_optional

_USERS, _USER_FIELDS = ("user", "serviceAccount"), ("username", "groups", "uid", "extra")
_MACRO_NAMES = frozenset((*MACROS, *(name for name, _ in RECEIVER_MACROS)))
_METHOD = re.compile(r"\{0\}\.(\w+)\(.*\)")
# Functions whose aliases take the same arguments in the same order.
_SAME_ARGUMENTS = frozenset(
    (
        "all",
        "distinct",
        "endsWith",
        "exists",
        "filter",
        "lowerAscii",
        "map",
        "startsWith",
        "upperAscii",
    )
)
_TEMPLATES = ("template", "jobTemplate")
_CERTAIN = 0.85  # similarity of a misspelled name
_DEEPEST = 4
_WIDEST = 1000  # fields that are looked at for one of that name
_LOOPS = 2


def undeclared_hint(tree: Tree, pos: int, name: str) -> str:
    """Return the remedy for a name that is not declared."""
    for node, above in tree.at(pos):
        if isinstance(node, Call) and name in (node.function, _full(node)):
            return _function_hint(tree, node)
        if isinstance(node, StructExpr) and node.type_name == name:
            return type_hint(tree, node)
        if isinstance(node, Ident) and node.name == name:
            return variable_hint(tree, node, above)
    return ""


def _full(node: Call) -> str:
    return f"{node.target.name}.{node.function}" if isinstance(node.target, Ident) else ""


def _function_hint(tree: Tree, call: Call) -> str:
    name, texts = call.function, [shown(each, "x") for each in children(call)]
    newer = _newer(tree, call)
    if newer:
        return newer
    if name in MACROS:
        return _macro_hint(tree, call, texts)
    if name == "has" and call.target is not None and len(texts) > 1:
        return f"write {texts[1]} in {texts[0]}"
    if name == "has":
        return "write has(a.b): it takes one field"
    functions = [each for each in tree.scope.functions if each[0].isalpha()]
    close = near(name, [*functions, *MACROS])
    if close and close.lower() == name.replace("_", "").lower():
        return f"write {styled_call(tree, close, texts)}"
    if (
        call.target is None
        and len(texts) == 2
        and texts[0][:1] in "'\""
        and "regex" in name.lower()
    ):
        texts.reverse()  # the pattern comes first in JMESPath and Rego
    last = call.args[-1] if call.args else None
    if isinstance(last, Literal) and isinstance(last.value, str) and is_glob(last.value):
        return f"write {instead_of_glob(last.value, held(texts[0]))}"
    known = alias(name, texts)
    return known or (f"did you mean {close}?" if close else "")


def renamed(tree: Tree, pos: int, name: str) -> str:
    """Return the one function that an undeclared name at a place stands for; empty if unknown."""
    if not any(isinstance(node, Call) and node.function == name for node, _ in tree.at(pos)):
        return ""
    known = [*(each for each in tree.scope.functions if each[0].isalpha()), *MACROS]
    same = same_name(name, known)
    if same:
        return same
    method = _METHOD.fullmatch(FUNCTIONS.get(name.replace("_", "").lower(), ""))
    if method is not None:
        return method[1] if method[1] in _SAME_ARGUMENTS else ""
    close = get_close_matches(name, known, n=2, cutoff=_CERTAIN)
    return close[0] if len(close) == 1 else ""


def _macro_hint(tree: Tree, call: Call, texts: list[str]) -> str:
    """Return the remedy for a macro with the wrong arguments."""
    form = MACROS[call.function]
    if call.target is not None and not call.args and is_optional(tree.type(call.target)):
        return f"write {held(texts[0])}.hasValue()"
    if call.function == "exists" and len(texts) == 1:
        return f"write has({texts[0]}) for a field, {form} for a list"
    if call.target is None and len(call.args) == 3:
        return f"write {texts[0]}.{call.function}({', '.join(texts[1:])})"
    if call.target is None and len(call.args) == 2:
        return f"write {texts[0]}.{call.function}(x, …)"
    if call.target is not None and len(call.args) == 1 and isinstance(call.args[0], Literal):
        return f"write {texts[1]} in {texts[0]}" if call.function == "exists" else f"write {form}"
    if call.target is not None and len(call.args) == 1:
        first: Expr = call.args[0]
        body = "…" if isinstance(first, Ident) else shown(first, "…")
        while below := children(first):
            first = below[0]
        name = first.name if isinstance(first, Ident) else "x"  # ``c`` of ``c.image != ''``
        return f"write the name of the variable first: {texts[0]}.{call.function}({name}, {body})"
    return f"write {form}"


def styled_call(tree: Tree, name: str, texts: list[str]) -> str:
    """Return a call of a function, of a member or global as it is declared."""
    overloads = tree.scope.functions.get(name, ())
    if any(not each.member for each in overloads) or not texts:
        return f"{name}({', '.join(texts)})"
    return f"{held(texts[0])}.{name}({', '.join(texts[1:])})"


def _newer(tree: Tree, call: Call) -> str:
    """Return which version of Kubernetes has a function or macro; empty if none, or this one."""
    version = tree.scope.version
    form = call.function, len(call.args)
    if form in RECEIVER_MACROS and not known_macro(form, version):
        since = INTRODUCED[form].since
    else:
        names = {call.function, _full(call)}
        later = [d.since for d in declarations() if d.name in names and d.since > version]
        if not later:
            return ""
        since = min(later)
    return f"{call.function}() needs Kubernetes {since}; expressions are checked for {version}"


def field_hint(tree: Tree, pos: int, field: str) -> str:
    """Return the remedy for a field that a type does not have."""
    for node, above in tree.at(pos):
        whole = _holder(node, field)
        if whole is not None:
            of = tree.type(whole)
            of = of.params[0] if of.name == "optional_type" else of
            outer = getattr(above[0], "field", "") if above else ""
            if of == REQUEST and field in _USERS and outer in _USER_FIELDS:
                return f"write request.userInfo.{outer}"
            if field == "metadata" and shown(whole) in ("object", "oldObject"):
                return _of_request(above[0] if above else None)
            return _field_hint(tree, of, whole, field)
    return ""


def _of_request(above: Expr | None) -> str:
    """Return the remedy for metadata of an object that has none: the options of CONNECT."""
    field = getattr(above, "field", "")
    if isinstance(above, Call) and isinstance(above.args[-1], Literal):
        field = above.args[-1].value
    if field in ("name", "namespace"):
        return f"write request.{field}"
    return "it has no metadata: request.name and request.namespace identify the object"


def _holder(node: Expr, field: str) -> Expr | None:
    """Return what a node selects a field of."""
    if isinstance(node, Select) and node.field == field:
        return node.operand
    if isinstance(node, Call) and node.function in ("_?._", "_[_]", "_[?_]"):
        return node.args[0]
    return None


def _field_hint(tree: Tree, of: Type, whole: Expr, field: str) -> str:
    names = list(tree.scope.provider.fields(of))
    close, text, top = near(field, names), shown(whole, "…"), whole
    if of == VARIABLES:
        declared = f"declared: {listed(names)}" if names else "none is declared"
        return f"did you mean variables.{close}?; {declared}" if close else declared
    if of == REQUEST and field in REQUEST_FIELDS:
        return REQUEST_FIELDS[field]
    if close and _certain(field, close):
        return f"did you mean {close}?"
    if field in ("cpu", "memory") and "limits" in names:
        return f"write {text}.limits.{field}, or {text}.requests.{field}"
    while isinstance(top, Select):
        top = top.operand
    below = [(start, _paths_below(tree, tree.type(start))) for start in (whole, top)]
    for exact in (True, False):
        for start, known in below:
            if remedy := _deeper(start, known, field, exact=exact):
                return remedy
        if close:
            return f"did you mean {close}?"
    if field in _TEMPLATES and "containers" in names:
        return (
            f"write {text}.containers and the like: a Pod has no {field}; with podControllers: "
            "true object is also the Pod of a Deployment"
        )
    if field in ("length", "size", "count"):
        return f"write size({text})"
    if (data := tree.scope.provider.field(of, "data")) is not None and data.kind is Kind.MAP:
        return f"write {text}.data.{field}; known fields: {listed(names)}"
    if {"labels", "annotations"} <= set(names):
        return f"write {text}.labels['{field}'] for a label; known fields: {listed(names)}"
    return f"known fields: {listed(names)}" if names else ""


def _paths_below(tree: Tree, of: Type) -> Mapping[str, str]:
    """Return the paths of the first fields of each name below a type; the items of a list are
    ``[]``: ``containers[].image``.
    """
    level, looked, paths = [(of, "")], 0, dict[str, str]()
    for _ in range(_DEEPEST):
        below: list[tuple[Type, str]] = []
        for struct, path in level:
            for name in tree.scope.provider.fields(struct):
                looked += 1
                found = tree.scope.provider.field(struct, name)
                if looked > _WIDEST or found is None:
                    continue
                if path:
                    paths.setdefault(name, f"{path}{name}")
                if found.kind is Kind.STRUCT:
                    below.append((found, f"{path}{name}."))
                if found.kind is Kind.LIST and path.count("[]") < _LOOPS:
                    below.append((found.params[0], f"{path}{name}[]."))
        # A workload's template first: a Pod's fields are what is meant; then its containers.
        level = sorted(
            below,
            key=lambda each: ("template" not in each[1], ".containers[]" not in f".{each[1]}"),
        )
    return paths


def _deeper(start: Expr, known: Mapping[str, str], field: str, *, exact: bool) -> str:
    """Return how to read the fields of this name below an expression, with the paths that are
    ``known`` there; or of an alike one if not ``exact``.
    """
    if exact and field not in known:
        return ""
    alike = sorted((name for name in known if _certain(field, name)), key=lambda n: n != field)
    paths = [known[name] for name in alike[:2]]
    paths = [path for path in paths if path.count(".") <= paths[0].count(".")]
    text = shown(start, "…")
    # The value of a key is a string or a list of strings.
    macro = "map" if text.split(".")[0] == "item" else "all"
    written = [_written(text, path, macro) for path in paths]
    if any("[]" in path for path in paths):
        return f"write {', or '.join(written)}"
    return f"did you mean {' or '.join(written)}?" if written else ""


def _written(start: str, path: str, macro: str, variables: str = "xy") -> str:
    """Return how to read a path below an expression, with a loop for each list on it."""
    first, _, rest = path.partition("[].")
    if not rest:
        return f"{start}.{first}"
    variable, others = variables[0], variables[1:]
    item = _written(variable, rest, macro, others)
    more = " …" if macro == "all" and "[]" not in rest else ""
    return f"{start}.{first}.{macro}({variable}, {item}{more})"


def _certain(name: str, known: str) -> bool:
    return bool(same_name(name, (known,)) or get_close_matches(name, (known,), 1, _CERTAIN))


def consequences(tree: Tree) -> set[tuple[int, str]]:
    """Return the places and names that are undeclared only because the call around them is."""
    found: set[tuple[int, str]] = set()
    for node, _ in tree.nodes:
        if not isinstance(node, Call) or node.function in tree.scope.functions:
            continue
        if isinstance(node.target, Ident) and _full(node) in _all_names():
            found.add((node.target.pos, node.target.name))
        elif of_namespace(tree, node):
            found.add((node.pos, node.function))
            found |= _inside(tree, node.args) if is_bind(node) else set()
        elif _takes_name(node):
            found |= _inside(tree, node.args)
    return found


@cache
def _all_names() -> frozenset[str]:
    """Return the names of the functions of all versions."""
    return frozenset(each.name for each in declarations())


def _takes_name(call: Call) -> bool:
    """Whether a call of an unknown function is probably meant as a macro."""
    if call.function in _MACRO_NAMES:
        return True
    name = call.args[1:2] if call.target is None else call.args[:1]
    if not name or not isinstance(name[0], Ident) or (call.target is None and len(call.args) != 3):
        return False
    rest = call.args if call.target is not None else call.args[1:]
    written = alias(call.function, ("x", *("…" for _ in rest)))
    return "(…, …)" in written or bool(near(call.function, MACROS))


def _inside(tree: Tree, args: Iterable[Expr]) -> set[tuple[int, str]]:
    """Return the undeclared variables in arguments."""
    declared = tree.scope.variables
    found = (node for node in nodes(*args) if isinstance(node, Ident))
    return {(node.pos, node.name) for node in found if node.name not in declared}
