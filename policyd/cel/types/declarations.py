"""Declarations: overloads from their signature text, and the scope that an expression is checked
in.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from policyd.cel.types import types
from policyd.cel.types.types import Kind, Type, TypeProvider
from policyd.versions import LEADING_DOT_IS_GLOBAL, NEWEST, TYPE_NAMES_HOLD_DYN, KubernetesVersion

_ALIASES = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
    "any": "dyn",
}


@dataclass(frozen=True, slots=True)
class OverloadDecl:
    """One signature of a function; a member's receiver is its first argument type."""

    id: str
    function: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    type_params: tuple[Type, ...] = ()


def parse_signature(text: str, name: str, overload_id: str = "") -> OverloadDecl:
    """``string.startsWith(string) -> bool`` named ``startsWith`` is a member; named by all that
    stands before the parenthesis it is global. Single capitals are type parameters. ValueError
    if malformed.
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
    """``map(string, list(A))`` and the like; short names of the well-known types are understood."""
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
    """At the commas outside of parentheses."""
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
        found += [each] if each.kind is Kind.PARAM else _params(each.params)
    return found


def group(overloads: Iterable[OverloadDecl]) -> dict[str, tuple[OverloadDecl, ...]]:
    """Functions by name, their overloads in the order given (which decides result types)."""
    functions: dict[str, tuple[OverloadDecl, ...]] = {}
    for overload in overloads:
        functions[overload.function] = (*functions.get(overload.function, ()), overload)
    return functions


# What a type's name means where an expression is wanted.
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

# The same since TYPE_NAMES_HOLD_DYN, where it differs.
_TYPE_NAMES_OF_DYN: Mapping[str, Type] = {
    each.name: types.type_of(each)
    for each in (
        types.list_of(types.DYN),
        types.map_of(types.DYN, types.DYN),
        types.optional_of(types.DYN),
    )
}


# Constants of Protocol Buffers that Kubernetes knows by name.
CONSTANTS: Mapping[str, int] = {"google.protobuf.NullValue.NULL_VALUE": 0}


class NoStructs:
    """The provider of an environment without struct types."""

    def find(self, name: str) -> Type | None:
        return None

    def field(self, struct: Type, name: str) -> Type | None:
        return None


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything that names may refer to.

    In the container ``a.b`` the name ``x`` means ``a.b.x``, ``a.x`` or ``x``, the first that
    exists; ``.x`` is always ``x``. Kubernetes' container is empty.
    """

    variables: Mapping[str, Type] = field(default_factory=dict)
    functions: Mapping[str, tuple[OverloadDecl, ...]] = field(default_factory=dict)
    provider: TypeProvider = field(default_factory=NoStructs)
    container: str = ""
    version: KubernetesVersion = NEWEST

    def candidates(self, name: str) -> Iterator[str]:
        """The full names that a name may stand for."""
        if name.startswith("."):
            yield name[1:]
            return
        container = self.container
        while container:
            yield f"{container}.{name}"
            container = container.rpartition(".")[0]
        yield name

    def variable(self, name: str) -> Type | None:
        """The type of a variable or of a type's name."""
        found = self.variables.get(name)
        if found is not None:
            return found
        return types.INT if name in CONSTANTS else self.type_name(name)

    def type_name(self, name: str) -> Type | None:
        """The type of a type's name."""
        found = TYPE_NAMES.get(name)
        if found is not None:
            of_dyn = self.version.has(TYPE_NAMES_HOLD_DYN)
            return _TYPE_NAMES_OF_DYN.get(name, found) if of_dyn else found
        struct = self.provider.find(name)
        return types.type_of(struct) if struct is not None else None


class Names:
    """Looks names up while a tree is walked: among macros' variables, then in the scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._dot_is_global = bool(scope.container) or scope.version.has(LEADING_DOT_IS_GLOBAL)
        self._locals: list[dict[str, Type]] = []

    def enter(self, variables: dict[str, Type]) -> None:
        """Variables that are known until ``leave``; they hide all others of their names."""
        self._locals.append(variables)

    def leave(self) -> None:
        """Forgets the variables of the last ``enter``."""
        self._locals.pop()

    def variable(self, name: str) -> tuple[str, Type] | None:
        """The full name and the type of a variable: macros' variables first, before 1.37 also after
        a leading dot. In a container, which Kubernetes has none, the specification is followed.
        """
        if name.startswith(".") and not self._dot_is_global:
            local = self._local(name[1:])
            if local is not None:
                return name[1:], local
        if not name.startswith("."):
            for names in reversed(self._locals):
                if name in names:
                    return name, names[name]
                if name.partition(".")[0] in names:
                    return None
        for full in self._scope.candidates(name):
            found = self._scope.variable(full)
            if found is not None:
                return full, found
        return None

    def struct(self, name: str) -> tuple[str, Type] | None:
        """The full name and the type behind ``name{…}``: since 1.37 no variable comes before it."""
        if not self._scope.version.has(LEADING_DOT_IS_GLOBAL):
            return self.variable(name)
        for full in self._scope.candidates(name):
            found = self._scope.type_name(full)
            if found is not None:
                return full, found
        return None

    def _local(self, name: str) -> Type | None:
        """The type of a macro's variable."""
        return next((names[name] for names in reversed(self._locals) if name in names), None)

    def hides(self, name: str) -> bool:
        """Whether a macro's variable hides a variable of the scope, which a dot brings back."""
        return (
            self._dot_is_global
            and self._scope.variable(name) is not None
            and (self._local(name) is not None)
        )

    def function(self, name: str) -> tuple[str, tuple[OverloadDecl, ...]] | None:
        """The full name and the overloads of a function."""
        for full in self._scope.candidates(name):
            if overloads := self._scope.functions.get(full):
                return full, overloads
        return None


class TypeVariables:
    """Hands out fresh type parameters, numbered as cel-go numbers them (messages may show them)."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = count()

    def fresh(self) -> Type:
        return Type(f"_var{next(self._numbers)}")

    def instantiate(self, overload: OverloadDecl) -> tuple[tuple[Type, ...], Type]:
        """The argument types and the result type, with fresh type parameters."""
        if not overload.type_params:
            return overload.args, overload.result
        fresh = {param: self.fresh() for param in overload.type_params}
        return tuple(_rename(arg, fresh) for arg in overload.args), _rename(overload.result, fresh)


def _rename(t: Type, names: Mapping[Type, Type]) -> Type:
    if t.kind is Kind.PARAM:
        return names[t]
    if not t.params:
        return t
    return Type(t.name, tuple(_rename(param, names) for param in t.params))
