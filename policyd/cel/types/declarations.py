"""Declarations: overloads parsed from their signatures, and the scope of an expression."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policyd.cel.types import types
from policyd.cel.types.types import Kind, Type, TypeProvider
from policyd.versions import (
    CEL_0_33,
    LEADING_DOT_IS_GLOBAL,
    NEWEST,
    TYPE_NAMES_HOLD_DYN,
    KubernetesVersion,
)

_PARAM = Kind.PARAM
_ALIASES = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "any": "dyn",
}


@dataclass(frozen=True, eq=False)
class OverloadDecl:
    """One signature of a function; a member's receiver is its first argument type. Compares by
    identity.
    """

    id: str
    function: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    type_params: tuple[Type, ...] = ()


def parse_signature(text: str, name: str, overload_id: str = "") -> OverloadDecl:
    """Parse a signature: ``string.startsWith(string) -> bool`` with the name ``startsWith`` is a
    member; if the name is all that precedes the parenthesis, it is global. Single capitals are
    type parameters. ValueError if malformed.
    """
    call, arrow, result = text.rpartition(" -> ")
    member = not call.startswith(f"{name}(")
    start = call.find(f".{name}(") if member else -1
    if not arrow or not call.endswith(")") or (member and start < 0):
        raise ValueError(f"not a signature of {name}: {text}")
    receiver = (parse_type(call[:start]),) if member else ()
    inside = call[start + len(name) + 2 : -1]
    args = receiver + tuple(parse_type(part) for part in _split(inside))
    produced = parse_type(result)
    params = tuple(dict.fromkeys(_params((*args, produced))))
    return OverloadDecl(overload_id or text, name, member, args, produced, params)


def parse_type(text: str) -> Type:
    """Parse ``map(string, list(A))`` and the like; short names of well-known types are accepted."""
    text = text.strip()
    name, paren, rest = text.partition("(")
    if not paren:
        if not text or not text.replace(".", "").replace("_", "").isalnum():
            raise ValueError(f"not a type: {text!r}")
        return Type(_ALIASES.get(text, text))
    if not rest.endswith(")"):
        raise ValueError(f"not a type: {text!r}")
    return Type(_ALIASES.get(name, name), tuple(parse_type(part) for part in _split(rest[:-1])))


def _split(text: str) -> list[str]:
    """Split at the commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]] if text.strip() else []


def _params(of: Iterable[Type]) -> list[Type]:
    found = []
    for each in of:
        found += [each] if each.kind is _PARAM else _params(each.params)
    return found


def group(overloads: Iterable[OverloadDecl]) -> dict[str, tuple[OverloadDecl, ...]]:
    """Group overloads by function name, in the given order (which decides result types)."""
    functions: dict[str, tuple[OverloadDecl, ...]] = {}
    for overload in overloads:
        functions[overload.function] = (*functions.get(overload.function, ()), overload)
    return functions


# The meaning of a type's name used as an expression.
TYPE_NAMES: Mapping[str, Type] = {
    each.name: types.type_of(each)
    for each in (
        types.BOOL,
        types.BYTES,
        types.DOUBLE,
        types.DURATION,
        types.INT,
        types.list_of(Type("A")),
        types.map_of(Type("A"), Type("B")),
        types.NULL,
        types.STRING,
        types.TIMESTAMP,
        types.TYPE,
        types.UINT,
        Type("optional_type"),
        Type("net.IP"),
        Type("net.CIDR"),
    )
}

# The entries that differ since TYPE_NAMES_HOLD_DYN.
_TYPE_NAMES_OF_DYN: Mapping[str, Type] = {
    each.name: types.type_of(each)
    for each in (
        types.list_of(types.DYN),
        types.map_of(types.DYN, types.DYN),
        types.optional_of(types.DYN),
    )
}


# Constants of Protocol Buffers that Kubernetes declares.
CONSTANTS: Mapping[str, int] = {"google.protobuf.NullValue.NULL_VALUE": 0}


@dataclass(frozen=True)
class Scope:
    """All declared names."""

    variables: Mapping[str, Type]
    functions: Mapping[str, tuple[OverloadDecl, ...]]
    provider: TypeProvider
    version: KubernetesVersion = NEWEST

    def place(self) -> str:
        """Return the container, which is always empty, as errors name it before 1.38."""
        return "" if self.version.has(CEL_0_33) else " (in container '')"

    def variable(self, name: str) -> Type | None:
        """Return the type of a variable or of a type's name."""
        found = self.variables.get(name)
        if found is not None:
            return found
        return types.INT if name in CONSTANTS else self.type_name(name)

    def type_name(self, name: str) -> Type | None:
        """Return the type of a type's name."""
        found = TYPE_NAMES.get(name)
        if found is not None:
            of_dyn = self.version.has(TYPE_NAMES_HOLD_DYN)
            return _TYPE_NAMES_OF_DYN.get(name, found) if of_dyn else found
        struct = self.provider.find(name)
        return types.type_of(struct) if struct is not None else None


class Names:
    """Resolves names while a tree is walked: macro variables first, then the scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._dot_is_global = scope.version.has(LEADING_DOT_IS_GLOBAL)
        self._locals: list[dict[str, Type]] = []

    def enter(self, variables: dict[str, Type]) -> None:
        """Add variables until ``leave``; they hide all others of the same name."""
        self._locals.append(variables)

    def leave(self) -> None:
        """Remove the variables of the last ``enter``."""
        self._locals.pop()

    def variable(self, name: str) -> tuple[str, Type] | None:
        """Return the full name and type of a variable: macro variables first; before 1.37, also
        after a leading dot.
        """
        dotted = name.startswith(".")
        if dotted:
            if not self._dot_is_global:
                local = self._local(name[1:])
                if local is not None:
                    return name[1:], local
        elif self._locals:
            first = name.partition(".")[0]
            for names in reversed(self._locals):
                local = names.get(name)
                if local is not None:
                    return name, local
                if first in names:
                    return None
        name = name.removeprefix(".")
        found = self._scope.variable(name)
        return None if found is None else (name, found)

    def struct(self, name: str) -> tuple[str, Type] | None:
        """Return the full name and type of ``name{…}``: since 1.37, variables do not take
        precedence.
        """
        if not self._scope.version.has(LEADING_DOT_IS_GLOBAL):
            return self.variable(name)
        name = name.removeprefix(".")
        found = self._scope.type_name(name)
        return None if found is None else (name, found)

    def _local(self, name: str) -> Type | None:
        """Return the type of a macro variable."""
        for names in reversed(self._locals):
            found = names.get(name)
            if found is not None:
                return found
        return None

    def hides(self, name: str) -> bool:
        """Return whether a macro variable hides a variable that ``.name`` still reaches."""
        return (
            self._dot_is_global
            and self._scope.variable(name) is not None
            and (self._local(name) is not None)
        )

    def function(self, name: str) -> tuple[str, tuple[OverloadDecl, ...]] | None:
        """Return the full name and the overloads of a function."""
        name = name.removeprefix(".")
        overloads = self._scope.functions.get(name)
        return (name, overloads) if overloads else None


class TypeVariables:
    """Creates fresh type parameters, numbered as in cel-go (messages may show them)."""

    def __init__(self) -> None:
        self._next = 0

    def fresh(self) -> Type:
        number = self._next
        self._next = number + 1
        if number < len(_FRESH):
            return _FRESH[number]
        return Type(f"_var{number}")

    def skip(self, overload: OverloadDecl) -> None:
        """Count the type parameters of an overload that cannot apply."""
        self._next += len(overload.type_params)

    def instantiate(self, overload: OverloadDecl) -> tuple[tuple[Type, ...], Type]:
        """Return the argument types and the result type, with fresh type parameters."""
        if not overload.type_params:
            return overload.args, overload.result
        key = overload, self._next
        known = _INSTANCES.get(key)
        if known is None:
            known = self._instance(overload)
            if self._next <= len(_FRESH):
                _INSTANCES[key] = known
        else:
            self._next += len(overload.type_params)
        return known

    def _instance(self, overload: OverloadDecl) -> tuple[tuple[Type, ...], Type]:
        fresh = {param: self.fresh() for param in overload.type_params}
        args = tuple([_rename(arg, fresh) for arg in overload.args])
        return args, _rename(overload.result, fresh)


# Most expressions have fewer.
_FRESH = tuple([Type(f"_var{number}") for number in range(64)])
# Overloads with these type parameters, by the first one's number.
_INSTANCES: dict[tuple[OverloadDecl, int], tuple[tuple[Type, ...], Type]] = {}


def _rename(t: Type, names: dict[Type, Type]) -> Type:
    if not t.parametric:
        return t
    if t.kind is _PARAM:
        return names[t]
    return Type(t.name, tuple([_rename(param, names) for param in t.params]))
