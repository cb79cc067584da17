"""The functions of JMESPath, and those that Kyverno adds, as CEL (kyverno/kyverno
pkg/engine/jmespath/functions.go). A function of null is an error there; here, one of a value that
is missing.
"""

from collections.abc import Sequence

from policyd.importers.jmespath.alternatives import CelTerm
from policyd.importers.jmespath.functions.arithmetic import ARITHMETIC
from policyd.importers.jmespath.functions.lists import LISTS
from policyd.importers.jmespath.functions.refused import REFUSED
from policyd.importers.jmespath.functions.strings import STRINGS_AND_TIMES
from policyd.importers.jmespath.vocabulary import NotTranslatable

# How many arguments each has (None: any number), and what makes CEL of them.
_FUNCTIONS = {**LISTS, **STRINGS_AND_TIMES, **ARITHMETIC}


def called(name: str, arguments: Sequence[CelTerm], taken: frozenset[str]) -> CelTerm:
    """Return the value of a call.

    Raises NotTranslatable for a function that has no counterpart, and for one that does not exist.
    """
    if name in REFUSED:
        raise NotTranslatable(f"`{name}()` has no counterpart: {REFUSED[name]}")
    if name not in _FUNCTIONS:
        raise NotTranslatable(f"`{name}()` is not a function of JMESPath or Kyverno")
    count, function = _FUNCTIONS[name]
    if count is not None and len(arguments) != count:
        raise NotTranslatable(f"`{name}()` takes {count} arguments, not {len(arguments)}")
    return function(arguments, taken)
