"""Replace strings, or parts of strings, in the text of a file, by their offsets."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import yaml

from policyd.cel.syntax.recursion import deep_recursion
from policyd.policy.source.splitting import read_values
from policyd.policy.source.yaml_edit.edits import CannotEdit, TextEdit, applied
from policyd.policy.source.yaml_nodes import YamlError, compose, scalar

_MARK = "policydEditedHere"


class NewString(NamedTuple):
    """Replace ``old`` at an offset by ``new``; ``quoted``: it needs quotes, and has none there."""

    start: int
    old: str
    new: str
    quoted: bool

    def edit(self, new: str) -> TextEdit:
        """Return the edit with this string as the new one."""
        text = new
        if self.quoted:
            single = "'{}'".format(new.replace("'", "''"))
            text = single if set('"\\') & set(new) else f'"{new}"'
        return TextEdit(self.start, self.start + len(self.old), text)

    def value(self) -> object:
        """Return what YAML reads in place of the old string, which has no quotes."""
        if not self.old.startswith("!"):
            return scalar(yaml.ScalarNode("?", self.old))[1]
        try:  # a tag, and the rest of the string
            return next((each.value for each in compose(self.old)), None)
        except YamlError:
            return None


def with_strings(name: str, text: str, strings: Sequence[NewString]) -> str:
    """Return the text of a file with some strings, or parts of them, replaced. Raises CannotEdit.

    The text is read a third time with marks in these places: so it is known which values, and
    which parts of them, are meant. If quotes are what makes it YAML, there are no values before.
    """
    marks = [f"{_MARK}{number}x" for number in range(len(strings))]
    result = applied(text, [each.edit(each.new) for each in strings])
    marked = applied(text, [each.edit(mark) for each, mark in zip(strings, marks, strict=True)])
    before, between, after = (_values(name, each) for each in (text, marked, result))
    old, new = between[0], between[0]
    for each, mark in zip(strings, marks, strict=True):
        new = new.replace(mark, _json(each.new)[1:-1])
        if each.quoted:  # without quotes YAML may have read another value
            plain = each.value()
            old = old.replace(f'"{mark}": ', _json({plain: 0})[1:-2])
            old = old.replace(f'"{mark}"', _json(plain))
        else:
            old = old.replace(mark, _json(each.old)[1:-1])
    if between[1] < before[1] and all(each.quoted for each in strings):
        old, before = "", ("", between[1])
    if (old, between[1], new, between[1]) != (*before, *after):
        raise CannotEdit("this would change something else")
    if not all(mark in between[0] for mark in marks):
        raise CannotEdit("this would change no value")
    return result


def _values(name: str, text: str) -> tuple[str, int]:
    """Return the values of a file, as JSON, and the number of its problems."""
    with deep_recursion():
        values, problems = read_values(name, text.encode("utf-8", "surrogatepass"))
        return _json(values), len(problems)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
