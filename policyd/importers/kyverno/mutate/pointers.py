"""Paths of JSON Patches with Kyverno's variables, as CEL."""

from dataclasses import dataclass
from typing import Self

from policyd._core.schema.types import Field
from policyd.export.expressions.cel import SUM
from policyd.export.expressions.literals import string_literal
from policyd.importers.jmespath.cel import is_field
from policyd.importers.jmespath.interpolation import has_variables, split_outside, term_of
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.mutate.texts import translated
from policyd.importers.model import Refused

END = "-"


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path: a key, an index, or ``-``, the place behind the last item of a list.

    ``text`` is what the path has (with ``~1``), or CEL if it is ``computed``; ``is_index``: CEL of
    an integer.
    """

    text: str
    computed: bool = False
    is_index: bool = False

    @property
    def key(self) -> str:
        """Return the key that it names; the text of an index."""
        return self.text.replace("~1", "/").replace("~0", "~")

    @property
    def in_list(self) -> bool:
        """Return whether it is a place in a list."""
        return self.is_index or (not self.computed and _is_number(self.text)) or self.text == END

    @property
    def is_negative(self) -> bool:
        """Return whether it counts from the end of a list."""
        return not self.computed and self.text[:1] == END and self.text[1:].isdecimal()

    def literal(self) -> str:
        """Return CEL of the step as a string."""
        if not self.computed:
            return string_literal(self.text)
        return f"string({self.text})" if self.is_index else self.text

    def access(self) -> str:
        """Return CEL that selects it as an optional value."""
        if self.in_list or self.computed:
            return f"[?{self.text}]"
        return f".?{self.key}" if is_field(self.key) else f"[?{string_literal(self.key)}]"


@dataclass(frozen=True, slots=True)
class Pointer:
    """A path into the object that is mutated."""

    steps: tuple[PathStep, ...] = ()

    @property
    def parent(self) -> "Pointer":
        """Return the path of what holds it."""
        return Pointer(self.steps[:-1])

    @property
    def last(self) -> PathStep:
        """Return its last step."""
        return self.steps[-1]

    def below(self, step: PathStep) -> "Pointer":
        """Return a longer path."""
        return Pointer((*self.steps, step))

    def keys(self) -> tuple[str, ...] | None:
        """Return its keys; None if it has other steps."""
        if any(each.computed or each.in_list for each in self.steps):
            return None
        return tuple(each.key for each in self.steps)

    def text(self) -> str:
        """Return CEL of the path as a string."""
        pieces: list[str] = []
        literal = ""
        for step in self.steps:
            literal += "/"
            if step.computed:
                pieces += [string_literal(literal), step.literal()]
                literal = ""
            else:
                literal += step.text
        whole = " + ".join([*pieces, string_literal(literal)] if literal else pieces)
        return whole.replace("/' + '", "/")

    @classmethod
    def read(cls, text: str, scope: Vocabulary, path: str) -> Self:
        """Read the path of an operation. Raises Refused."""
        if not text.startswith("/"):
            raise Refused(path, f"`{text}`: a path begins with a slash")
        steps = []
        for segment in split_outside(text[1:], "/"):
            if not has_variables(segment):
                steps.append(PathStep(segment))
                continue
            term = translated(term_of, segment, scope, path)
            number = term.kind.name == "number"
            steps.append(PathStep(term.text(SUM), computed=True, is_index=number))
        return cls(tuple(steps))

    def field(self, root: Field | None) -> Field | None:
        """Return the field at this path of a kind; None if it is unknown."""
        found = root
        for step in self.steps:
            if found is None:
                return None
            found = found.type.item if step.in_list else member(found, step.key)
        return found


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def member(at: Field | None, name: str) -> Field | None:
    """Return the field of a key below a field; None if it is unknown."""
    return at.type.fields.get(name, at.type.extra) if at is not None else None
