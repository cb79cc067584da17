"""JMESPath, and strings with JMESPath in `{{ }}`, as CEL. Knows nothing of policies."""

from collections.abc import Sequence
from dataclasses import replace

from policyd.importers.jmespath.alternatives import single
from policyd.importers.jmespath.interpolation import has_variables, queried, term_of
from policyd.importers.jmespath.reading import over, read
from policyd.importers.jmespath.streams import CelList
from policyd.importers.jmespath.vocabulary import Vocabulary

__all__ = ["has_variables", "interpolated", "looped", "translate"]


def translate(expression: str, scope: Vocabulary) -> str:
    """Return a JMESPath expression as CEL; a value that is missing is an error of CEL.

    Raises NotTranslatable.
    """
    return read(expression, scope).text()


def interpolated(text: str, scope: Vocabulary) -> str:
    """Return CEL of a string that may hold `{{ }}`: the value itself if the whole of it is one.

    Raises NotTranslatable.
    """
    return term_of(text, scope).text()


def looped(
    expression: str, scope: Vocabulary, names: Sequence[str] = ("element",)
) -> tuple[str, str, Vocabulary]:
    """Return CEL of the list that an expression is, with what is missing empty; a variable for an
    item of it; and the vocabulary for the inside of the loop, where ``names`` mean the item.

    Raises NotTranslatable.
    """
    term = queried(expression, scope)
    whole = single(replace(term, needs=None) if isinstance(term, CelList) else term)
    loop = over(whole, scope.taken)
    item = loop.element.text()
    inside = scope.inside(item)
    for name in names:
        inside = inside.bound(name, item, loop.element.kind, field=loop.element.name)
    return whole.or_value("[]"), item, inside
