"""The expressions of a Policy as people read them: shared where they repeat, and in short lines."""

import copy

from policyd.importers.expressions.sharing import expressions_of, share
from policyd.importers.expressions.wrapping import wrapped
from policyd.json_types import JSONObject


def readable(spec: JSONObject, *, authored: bool = False) -> JSONObject:
    """Return the ``spec`` of a Policy. ``authored``: its expressions come from the source, and
    are only broken into lines.
    """
    found = copy.deepcopy(spec)
    if not authored:
        share(found)
    for holder, field in expressions_of(found):
        holder[field] = wrapped(holder[field])
    for each in found.get("matchConditions") or ():
        each["expression"] = wrapped(each["expression"])
    return found
