"""All matches as RE2 finds them, one search after the other. No tests here."""

from re2 import _re2

from policyd._core.regex.program import Choice, RegexNode, Repetition, may_be_empty, tree


def finds_what_go_finds(pattern: str, text: str) -> bool:
    """Return whether RE2 is known to have Go's matches: it finds no boundaries also
    inside of characters, and prefers others in loops whose bodies may be empty. ``pattern`` is from ``regex.syntax``.
    """
    return (text.isascii() or r"\B" not in pattern) and not _empty_loop(tree(pattern))


def _empty_loop(node: RegexNode) -> bool:
    match node:
        case Repetition(inner, _, high):
            return (high is None and may_be_empty(inner)) or _empty_loop(inner)
        case Choice(branches):
            return any(_empty_loop(each) for branch in branches for each in branch)
    return False


def spans(compiled: _re2.RE2, text: str) -> list[tuple[int, int]]:
    """Every match in characters, without overlaps; an empty match may follow another one."""
    data = text.encode()
    places = [0]
    for char in text:
        places.append(places[-1] + len(char.encode()))
    numbers = {place: number for number, place in enumerate(places)}
    at, found = 0, []
    while at <= len(text):
        each = compiled.Match(_re2.RE2.Anchor.UNANCHORED, data, places[at], len(data))
        if not each or each[0][0] < 0:
            break
        start, end = numbers[each[0][0]], numbers[each[0][1]]
        found.append((start, end))
        at = max(start + 1, end)
    return found
