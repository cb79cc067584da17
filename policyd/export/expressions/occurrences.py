"""Occurrences of variables in the source of an expression, and replacing them there.

The author's source stays as it is: only the characters of an identifier, or of a selection that
follows it, are replaced. Macros and their variables are respected.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from policyd.cel.syntax.ast import Call, Comprehension, Expr, Ident, Literal, Select
from policyd.cel.syntax.lexer import Token, tokenize
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import children
from policyd.policy.source.yaml_edit.edits import CannotEdit, TextEdit, applied
from policyd.versions import NEWEST, KubernetesVersion


class Untranslatable(Exception):
    """An expression cannot be rewritten so that it means the same; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Access:
    """The read parts of a value: a field by its key (None: computed when evaluated).

    ``optional``: by ``.?field`` (the type of ``[?key]`` is another). ``test``: by ``has()``.
    ``span`` is the place of ``.field`` if the access is a plain selection.
    """

    key: str | None
    optional: bool = False
    test: bool = False
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A use of a variable that no macro shadows.

    ``accesses`` are the fields that are read of it, one in the other, through the branches of
    conditionals too: ``(c ? object : oldObject).spec``. ``compared``: it is an operand of
    ``== null`` or ``!= null``. ``branch``: it is the branch of a conditional. ``shadowed`` are the
    names that macros define at this place.
    """

    name: str
    start: int
    accesses: tuple[Access, ...]
    compared: bool
    branch: bool
    shadowed: frozenset[str]

    @property
    def end(self) -> int:
        return self.start + len(self.name)


def spliced(text: str, splices: Iterable[TextEdit]) -> str:
    """Return the text with all replacements; equal ones count once.

    Raises Untranslatable if two of them overlap: a macro that copies its operand, such as optMap,
    uses the copies differently.
    """
    try:
        return applied(text, [*set(splices)])
    except CannotEdit:
        raise Untranslatable("a macro uses its operand in two ways") from None


def replaced(
    text: str,
    names: frozenset[str],
    replacements: Callable[[Occurrence], Iterable[TextEdit]],
    version: KubernetesVersion = NEWEST,
) -> str:
    """Return an expression with the replacements of each use of the variables of these names.

    Raises Untranslatable.
    """
    uses = occurrences(text, names, version)
    return spliced(text, (edit for use in uses for edit in replacements(use)))


def occurrences(
    text: str, names: frozenset[str], version: KubernetesVersion = NEWEST
) -> tuple[Occurrence, ...]:
    """Return the uses of the variables of these names in an expression that compiles.

    Raises Untranslatable for a name with a leading dot.
    """
    finder = _Finder(text, names, parse(text, version))
    return tuple(finder.found())


class _Finder:
    def __init__(self, text: str, names: frozenset[str], root: Expr) -> None:
        tokens = tokenize(text)[0]
        self._tokens = tokens
        self._at: Mapping[int, int] = {token.pos: index for index, token in enumerate(tokens)}
        self._names = names
        self._root = root

    def found(self) -> Iterator[Occurrence]:
        yield from self._walk(self._root, (), frozenset())

    def _walk(
        self, node: Expr, above: tuple[Expr, ...], shadowed: frozenset[str]
    ) -> Iterator[Occurrence]:
        """Find uses below a node; ``above`` are the nodes around it, the next one last."""
        if isinstance(node, Ident):
            name = node.name.removeprefix(".")
            if name in self._names and name != node.name:
                raise Untranslatable(f"the name {node.name} has a leading dot")
            if name in self._names and name not in shadowed:
                yield self._occurrence(node, above, shadowed)
            return
        around = (*above, node)
        if isinstance(node, Comprehension):
            folded = shadowed | {node.accu_var}
            inner = folded | {node.iter_var, node.iter_var2}
            yield from self._walk(node.iter_range, around, shadowed)
            yield from self._walk(node.accu_init, around, shadowed)
            yield from self._walk(node.loop_condition, around, inner)
            yield from self._walk(node.loop_step, around, inner)
            yield from self._walk(node.result, around, folded)
            return
        for child in children(node):
            yield from self._walk(child, around, shadowed)

    def _occurrence(
        self, ident: Ident, above: tuple[Expr, ...], shadowed: frozenset[str]
    ) -> Occurrence:
        accesses: list[Access] = []
        node: Expr = ident
        for outer in reversed(above):
            access = self._access(outer, node)
            if access is not None:
                accesses.append(access)
            elif not _is_branch(outer, node):
                break
            node = outer
        compared = bool(above) and _compares_with_null(above[-1], ident)
        branch = bool(above) and _is_branch(above[-1], ident)
        return Occurrence(ident.name, ident.pos, tuple(accesses), compared, branch, shadowed)

    def _access(self, outer: Expr, node: Expr) -> Access | None:
        """Return how ``outer`` reads a field of ``node``; None if it does not."""
        match outer:
            case Select(operand=operand, field=field, test_only=test) if operand is node:
                return Access(field, test=test, span=None if test else self._span(outer.pos))
            case Call(function="_?._", args=(operand, Literal(value=str(field)))) if (
                operand is node
            ):
                return Access(field, optional=True)
            case Call(function="_[_]" | "_[?_]", args=(operand, key)) if operand is node:
                known = key.value if isinstance(key, Literal) else None
                name = known if isinstance(known, str) else None
                return Access(name)
        return None

    def _span(self, dot: int) -> tuple[int, int] | None:
        """Return the place of ``.field``, given the place of its dot."""
        index = self._at.get(dot)
        if index is None or index + 1 >= len(self._tokens):
            return None
        name: Token = self._tokens[index + 1]
        return dot, name.pos + len(name.text)


def _is_branch(outer: Expr, node: Expr) -> bool:
    return isinstance(outer, Call) and outer.function == "_?_:_" and outer.args[0] is not node


def _compares_with_null(outer: Expr, node: Expr) -> bool:
    if not isinstance(outer, Call) or outer.function not in ("_==_", "_!=_"):
        return False
    other = outer.args[1] if outer.args[0] is node else outer.args[0]
    return isinstance(other, Literal) and other.value is None
