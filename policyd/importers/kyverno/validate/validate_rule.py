"""The body of a rule that validates without CEL, as validations of a Policy: patterns, conditions
of `deny`, and a `foreach`, in which each item of lists has to match a pattern or must not meet
conditions.
"""

from policyd.export.expressions.cel import FALSE, Cel
from policyd.export.patterns.verdicts import admits
from policyd.importers.jmespath.cel import every, negated, some, variable
from policyd.importers.jmespath.interpolation import has_variables, interpolated
from policyd.importers.jmespath.reading import read
from policyd.importers.jmespath.vocabulary import NotTranslatable, Vocabulary
from policyd.importers.kyverno.conditions import holds
from policyd.importers.kyverno.context import bound
from policyd.importers.kyverno.plain_lists import plain_lists
from policyd.importers.kyverno.validate.patterns import converted
from policyd.importers.model import ImportNotes, Refused, refusing
from policyd.json_types import JSON, JSONObject
from policyd.pattern import compile_pattern
from policyd.pattern.marks import Mark, marked


def validations(
    rule: JSONObject, path: str, scope: Vocabulary, notes: ImportNotes
) -> list[JSONObject]:
    """Return the validations of a rule; ``path`` is the path of the rule.

    Raises Refused for what policyd cannot check.
    """
    validate = rule["validate"]
    at = f"{path}.validate"
    if "manifests" in validate:
        raise Refused(f"{at}.manifests", "signatures of manifests are not verified by policyd")
    if "assert" in validate:
        raise Refused(f"{at}.assert", "assertion trees are not imported: write a pattern")
    found = _body(validate, at, scope, notes)
    words = _message(validate.get("message", ""), scope, f"{at}.message", notes)
    # A pattern is longer than its message, an expression shorter.
    return [{**each, **words} if "expression" in each else {**words, **each} for each in found]


def _body(
    validate: JSONObject, path: str, scope: Vocabulary, notes: ImportNotes
) -> list[JSONObject]:
    if "pattern" in validate:
        return [{"pattern": converted(validate["pattern"], f"{path}.pattern", notes)}]
    if "anyPattern" in validate:
        at, trees = f"{path}.anyPattern", validate["anyPattern"]
        if not trees:
            raise Refused(at, "expected a list of patterns")
        found = [converted(each, f"{at}[{n}]", notes) for n, each in enumerate(trees)]
        return [{"anyPattern": found}]
    if "deny" in validate:
        return [{"expression": _admitted(validate["deny"], f"{path}.deny", scope).text}]
    if "foreach" in validate:
        return _of_loops(validate["foreach"], f"{path}.foreach", scope, notes)
    raise Refused(path, "the rule validates nothing that the import knows")


def _message(text: str, scope: Vocabulary, path: str, notes: ImportNotes) -> JSONObject:
    """Return ``message`` or ``messageExpression`` of a validation, neither if there is no text.

    Line breaks become spaces: Kubernetes has no message with several lines.
    """
    if not text.strip():
        return {}
    line = " ".join(text.split("\n")).strip()
    words = " ".join(line.split()) if "\n" in text.strip() else line
    if not has_variables(text):
        return {"message": words}
    try:
        return {"messageExpression": interpolated(words, scope)}
    except NotTranslatable as error:
        notes.remark(path, f"the message is shown as it is written: {error}")
        return {"message": words}


def _of_loops(
    loops: list[JSONObject], path: str, scope: Vocabulary, notes: ImportNotes
) -> list[JSONObject]:
    """Return the validations of all loops; patterns on plain lists become one pattern."""
    if not loops:
        raise Refused(path, "expected a list of loops")
    result: list[JSONObject] = []
    for index, loop in enumerate(loops):
        at = f"{path}[{index}]"
        found = _as_pattern(loop, at, notes)
        if found is None:
            result.append({"expression": _expression(loop, at, scope, 0).text})
            continue
        joined = _joined(result[-1].get("pattern") if result else None, found)
        if joined is None:
            result.append({"pattern": found})
        else:
            result[-1] = {"pattern": joined}
    return result


def _as_pattern(loop: JSONObject, path: str, notes: ImportNotes) -> JSON:
    """Return a pattern that checks each item of plain lists, wherever they are present; None if the
    loop is something else.
    """
    lists = plain_lists(_path(loop))
    if lists is None or lists.root != "request.object" or "pattern" not in loop:
        return None
    if loop.get("preconditions") or loop.get("context"):
        return None
    pattern = converted(loop["pattern"], f"{path}.pattern", notes)
    tree: JSON = {_if_present(name, "containers"): [pattern] for name in lists.names}
    for name in reversed(lists.parents):
        # All objects that have such lists have spec and metadata.
        tree = {_if_present(name, "spec", "metadata"): tree}
    return tree


def _if_present(name: str, *always: str) -> str:
    return name if name in always else marked(Mark.IF_PRESENT, name)


def _joined(first: JSON, second: JSON) -> JSON:
    """Return a pattern that demands what both do; None if both name the same field."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return None
    result = dict(first)
    for key, value in second.items():
        result[key] = _joined(result[key], value) if key in result else value
        if result[key] is None and value is not None:
            return None
    return result


def _expression(loop: JSONObject, path: str, scope: Vocabulary, depth: int) -> Cel:
    """Return CEL that is true if no item of the list is denied; ``depth`` loops are around it."""
    with refusing(path, NotTranslatable):
        term = read(_path(loop), scope)
        items, name = term.or_value("[]"), variable(term.name, scope.taken)
        inner = _inside(scope, name, depth)
        if loop.get("context"):
            inner, found = bound(loop["context"], inner, f"{path}.context", inline=True)
            if found:
                raise Refused(f"{path}.context", "a ConfigMap can only be named for the whole rule")
        test = _test(loop, path, inner, name, depth)
        if loop.get("preconditions"):
            applies = holds(loop["preconditions"], inner, f"{path}.preconditions")
            test = some(negated(applies), test)
    return Cel(f"{items}.all({name}, {test.text})")


def _path(loop: JSONObject) -> str:
    """Return the expression of the list, which may or may not stand in ``{{ }}``."""
    text = str(loop.get("list", "")).strip()
    return text[2:-2] if text.startswith("{{") and text.endswith("}}") else text


def _inside(scope: Vocabulary, name: str, depth: int) -> Vocabulary:
    inner = scope.bound("element", name).inside(name)
    inner = inner.bound(f"element{depth}", name)
    for each in ("elementIndex", f"elementIndex{depth}"):
        inner = inner.without(each, f"`{each}` is the number of an item, which CEL does not count")
    return inner


def _test(loop: JSONObject, path: str, scope: Vocabulary, name: str, depth: int) -> Cel:
    """Return CEL that is true for an item that is not denied."""
    if "deny" in loop:
        return _admitted(loop["deny"], f"{path}.deny", scope)
    if "pattern" in loop:
        return _matches(loop["pattern"], f"{path}.pattern", name)
    if "anyPattern" in loop:
        patterns = enumerate(loop["anyPattern"])
        found = [_matches(each, f"{path}.anyPattern[{index}]", name) for index, each in patterns]
        return some(*found)
    if "foreach" in loop:
        tests = []
        for index, each in enumerate(loop["foreach"]):
            at = f"{path}.foreach[{index}]"
            tests.append(_expression(each, at, scope, depth + 1))
        return every(*tests)
    raise Refused(path, "the loop checks nothing")


def _matches(tree: JSON, path: str, name: str) -> Cel:
    notes = ImportNotes()
    pattern = converted(tree, path, notes)
    for each in notes.remarks:
        raise Refused(each.path, each.message)
    return admits(compile_pattern(pattern).root, name, 0)


def _admitted(deny: JSONObject, path: str, scope: Vocabulary) -> Cel:
    """Return CEL that is true if the conditions of ``deny`` do not hold; without conditions it
    never is.
    """
    conditions = deny.get("conditions")
    return negated(holds(conditions, scope, f"{path}.conditions")) if conditions else FALSE
