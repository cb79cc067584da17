"""JMESPath, and strings with JMESPath in `{{ }}`, as CEL. Knows nothing of policies."""

from policyd.importers.jmespath.interpolation import has_variables, term_of
from policyd.importers.jmespath.vocabulary import Vocabulary

__all__ = ["has_variables", "interpolated"]


def interpolated(text: str, scope: Vocabulary) -> str:
    """Return CEL of a string that may hold `{{ }}`: the value itself if the whole of it is one. A
    value that is missing is an error of CEL.

    Raises NotTranslatable.
    """
    return term_of(text, scope).text()
