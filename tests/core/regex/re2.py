"""All matches as RE2 finds them, one search after the other. No tests here."""

from re2 import _re2


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
