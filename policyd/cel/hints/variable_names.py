"""Name hints: undeclared variables and types."""

from collections.abc import Collection, Mapping

from policyd.cel.hints.tree import Tree, listed, near, shown
from policyd.cel.hints.vocabulary import NAMESPACES, alias
from policyd.cel.hints.vocabulary import VARIABLES as INSTEAD
from policyd.cel.syntax.ast import Call, Expr, Ident, ListExpr, MapExpr, Select, StructExpr
from policyd.cel.types.structs import VARIABLES
from policyd.cel.types.types import Kind

_OF_OBJECT = frozenset(("spec", "metadata", "status", "kind", "apiVersion", "data", "labels"))
_OF_SPEC = frozenset(
    ("containers", "initContainers", "hostNetwork", "replicas", "template", "volumes")
)
_INPUT = {
    "object": "object",
    "request": "request",
    "oldObject": "oldObject",
    "parameters": "params",
    "namespaceObject": "namespaceObject",
}
_COMPARE = frozenset(("_==_", "_!=_", "@in", "startsWith", "endsWith", "contains", "matches"))
_PATCH = "only mutations know it: write a MutatingAdmissionPolicy, or mutations in a Policy"
_MAPS = ("labels", "annotations", "matchLabels", "nodeSelector", "data")
_UNSEEN: Mapping[str, str] = {
    "params": "declare spec.paramKind, or the values in spec.params of a policyd.dev/v1 Policy",
    "variables": "declare spec.variables; matchConditions cannot use them",
    "authorizer": "validations and matchConditions know it, a messageExpression does not",
}


def variable_hint(tree: Tree, node: Ident, above: tuple[Expr, ...]) -> str:
    """Return the remedy for the name of a variable that is not declared."""
    name, declared, parent = (
        node.name.lstrip("."),
        tree.scope.variables,
        above[0] if above else None,
    )
    own = tuple(tree.scope.provider.fields(VARIABLES)) if "variables" in declared else ()
    compared = isinstance(parent, Call) and parent.function in _COMPARE
    field = parent.field if isinstance(parent, Select) else ""
    if name in ("Object", "JSONPatch"):
        return _PATCH
    if isinstance(parent, MapExpr) and any(entry.key is node for entry in parent.entries):
        return _typed(parent, above[1:]) or f"write the key in quotes: {{'{name}': …}}"
    if name in ("input", "admission") and isinstance(parent, Select):
        return _input(parent, above[1:])
    if isinstance(parent, Call) and parent.target is node and (hint := of_namespace(tree, parent)):
        return hint
    if name in own:
        return f"write variables.{name}"
    if name in _UNSEEN and name not in declared:
        return _UNSEEN[name]
    if name in tree.macro_variables():
        return f"{name} is the variable of a macro: it is known only in its arguments"
    if name in _OF_SPEC:
        return f"write object.spec.{name}"
    if name in _OF_OBJECT:
        return f"write object.{name}"
    if name == "reads":
        return _read(field, declared)
    if compared and name.isupper() and len(name) > 1:
        return f"write '{name}' in quotes"
    if instead := INSTEAD.get(name.replace("_", "").lower()):
        return instead.replace("NAME", field or "NAME")
    return _misspelt(tree, name, own) or _other(name, parent, declared, compared=compared)


def _typed(node: MapExpr, above: tuple[Expr, ...]) -> str:
    """Return the remedy for a map that stands for a part of an ``Object{…}``."""
    struct = above[0] if above else None
    if not isinstance(struct, StructExpr) or not struct.type_name.startswith("Object"):
        return ""
    field = next((each.name for each in struct.fields if each.value is node), "")
    known = field and field not in _MAPS
    return f"write {struct.type_name}.{field}{{…}} in place of the map around it" if known else ""


def _read(field: str, declared: Collection[str]) -> str:
    """Return the remedy for ``reads.NAME``: each is a variable with a dot in its name."""
    known = [each for each in declared if each.startswith("reads.")]
    if not known:
        return "declare spec.reads of a policyd.dev/v1 Policy"
    close = near(f"reads.{field}", known) if field else ""
    return f"did you mean {close}?" if close else f"declared are {listed(known)}"


def _misspelt(tree: Tree, name: str, own: Collection[str]) -> str:
    declared = [each for each in tree.scope.variables if "." not in each]
    of_macros = [each for each in tree.macro_variables() if each.isalnum()]
    close = near(name, declared) or near(name, of_macros)
    if not close and (variable := near(name, own)):
        close = f"variables.{variable}"
    return f"did you mean {close}?" if close else ""


def _other(name: str, parent: Expr | None, declared: Collection[str], *, compared: bool) -> str:
    if compared or isinstance(parent, ListExpr):
        return f"if it is a string, write '{name}' in quotes"
    known = f"known here: {listed(each for each in declared if '.' not in each)}"
    if not isinstance(parent, Select):
        return known
    items = f"write object.spec.containers.map({name}, {name}.{parent.field})"
    return f"{known}; for items of a list {items}"


def _input(parent: Select, above: tuple[Expr, ...]) -> str:
    """Return the remedy for the paths of Rego and Gatekeeper: ``input.review.object``."""
    node, field = parent, parent.field
    if field in ("review", "request") and above and isinstance(above[0], Select):
        node, field = above[0], above[0].field
        if field not in _INPUT:
            return f"write request.{field} in place of {shown(node)}"
    return f"write {_INPUT.get(field, 'object')} in place of {shown(node)}"


def is_bind(call: Call) -> bool:
    """Whether a call is ``cel.bind(NAME, VALUE, EXPRESSION)``, which Kubernetes does not have."""
    named = isinstance(call.target, Ident) and call.target.name == "cel"
    return named and call.function == "bind" and len(call.args) == 3


def of_namespace(tree: Tree, call: Call) -> str:
    """Return the remedy for functions in namespaces: ``strings.toLower(x)``, ``sets.contain``."""
    if not isinstance(call.target, Ident) or call.target.name in tree.scope.variables:
        return ""
    functions, name = tree.scope.functions, call.target.name
    if is_bind(call):
        variable, value = map(shown, call.args[:2])
        return f"write {value} for {variable}, or declare it under variables in the policy"
    known = [each for each in functions if each.startswith(f"{name}.")]
    close = near(f"{name}.{call.function}", known) if known else ""
    if close and name.lower() not in ("strings", "format"):
        return f"did you mean {close}?"
    if name.lower() not in NAMESPACES:
        return f"did you mean {close}?" if close else ""
    function = near(call.function, functions)
    if function.lower() == call.function.lower() and name.lower() in ("net", "resource"):
        return f"write {function}({', '.join(map(shown, call.args))})"
    if call.function in functions and call.args:
        rest = ", ".join(map(shown, call.args[1:]))
        return f"write {shown(call.args[0])}.{call.function}({rest})"
    order = list(map(shown, call.args))
    if name.lower() in ("regex", "regexp"):
        order.reverse()  # the pattern comes first in Rego, Go and Python
    return alias(call.function, order)


def type_hint(tree: Tree, node: StructExpr) -> str:
    """Return the remedy for a type that is not declared."""
    name = node.type_name
    root = name.partition(".")[0]
    if root in ("Object", "JSONPatch") and not _patches(tree):
        return _PATCH
    if root.lower() in ("jsonpatch", "patch"):
        return "write JSONPatch{op: 'add', path: '/spec/x', value: …}"
    if root.lower() in ("object", "obj"):
        return f"write Object{name[len(root) :]}{{…}}"
    if _patches(tree):
        return "write the path of the field, such as Object.spec.containers{…}, or a map"
    return "write a map: {'key': value}"


def _patches(tree: Tree) -> bool:
    found = tree.scope.provider.find("JSONPatch")
    return found is not None and found.kind is Kind.STRUCT
