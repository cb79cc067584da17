"""Find what a syntax error of libyaml is about."""

from collections.abc import Iterator
from contextlib import suppress

import yaml

from policyd.policy.source.yaml_text import layout, values
from policyd.policy.source.yaml_text.marks import counter
from policyd.policy.source.yaml_text.rows import QUOTES, Explanation, YamlRow


def explain(
    text: str, problem: str, place: tuple[int, int], began: tuple[int, int]
) -> Explanation | None:
    """Return what is wrong at a place (line and column from 1); ``began``: where what the parser
    was reading begins. None if nothing is known.
    """
    # A text without a last newline also ends in a separate line for libyaml.
    lines = [line.rstrip("\r") for line in f"{text}\n".split("\n")]
    line, column = place
    if not 0 < line <= len(lines) or not 0 < began[0] <= len(lines):
        return None
    return next(_candidates(text, lines, problem, (line, column), began), None)


def _candidates(
    text: str, lines: list[str], problem: str, place: tuple[int, int], began: tuple[int, int]
) -> Iterator[Explanation]:
    line, column = place
    row = YamlRow.of(lines[line - 1])
    rows = [layout.tab(lines, line)]
    if "unknown escape character" in problem:
        rows.append(values.escape(lines[line - 1], column, began if began[0] == line else (0, 0)))
    elif "quoted scalar" in problem and "unexpected" in problem:
        rows.append(_unclosed(lines, began))
    elif "block scalar" in problem:
        rows.append(values.block(row) if row.value[:1] in ("|", ">") else values.sign(row))
    elif "scanning a tag" in problem:
        rows.append(values.tag(lines[began[0] - 1], began))
    elif "scanning an alias" in problem:
        rows += [values.sign(row), values.tag(lines[began[0] - 1], began)]
    elif "expected ',' or" in problem:
        rows += [values.sign(row), _flow(lines, (line, column), began)]
    elif "could not find expected ':'" in problem:
        rows.append(layout.no_key(lines, began[0]))
    elif "mapping values" in problem:
        rows += [layout.deeper(lines, line, column), values.sign(row), values.colon(row)]
    else:
        rows += [values.sign(row) if column > row.at else None, values.quotes(row, column)]
        rows.append(_late_quote(text, line, column))
        if "expected node content" in problem and not "".join(lines[line - 1 :]).strip():
            rows.append(_open_at_end(text))
        if "did not find expected" in problem:
            rows += [layout.indentation(lines, line), layout.item(lines, line, began)]
    for found in filter(None, rows):
        # A value is at fault from its first sign on, wherever the parser noticed it.
        at_value = found.summary.startswith("a value") and found.place is None
        yield found._replace(place=(line, row.at + 1)) if at_value else found


def _unclosed(lines: list[str], began: tuple[int, int]) -> Explanation:
    line, column = began
    quote = lines[line - 1][column - 1 : column] or "'"
    what = "the quote that opens in line {0} is never closed"
    return Explanation(what, f"write the closing {quote}", (line,), began)


def _flow(lines: list[str], place: tuple[int, int], began: tuple[int, int]) -> Explanation | None:
    """A list or object in brackets that does not end in its line, or has too much in it."""
    line, column = place
    if began[0] == line:
        return values.in_brackets(lines[line - 1], column)
    opening = lines[began[0] - 1][began[1] - 1 : began[1]]
    return _never_closed(opening, began) if opening in ("[", "{") else None


def _open_at_end(text: str) -> Explanation | None:
    """The innermost bracket that is open at the end."""
    opened = []
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
            opened.append(token)
        elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken):
            opened.pop()
    if not opened:
        return None
    line, column = counter(text)(opened[-1].start_mark)
    opening = "[" if isinstance(opened[-1], yaml.FlowSequenceStartToken) else "{"
    return _never_closed(opening, (line + 1, column + 1))


def _never_closed(opening: str, place: tuple[int, int]) -> Explanation:
    what = f"the {opening} of line {{0}} is never closed"
    close = "]" if opening == "[" else "}"
    return Explanation(what, f"write {close} at its end", (place[0],), place)


def _late_quote(text: str, line: int, column: int) -> Explanation | None:
    """A string that ends just before the place, and began in an earlier line."""
    place_of = counter(text)
    last: yaml.Token | None = None
    with suppress(yaml.YAMLError):  # the scanner may stop where the parser did
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            at = place_of(token.start_mark)
            if at[0] + 1 >= line and at[1] + 1 >= column:
                break
            if isinstance(token, yaml.ScalarToken):
                last = token
    if not isinstance(last, yaml.ScalarToken) or last.style not in QUOTES:
        return None
    start, end = place_of(last.start_mark), place_of(last.end_mark)
    if start[0] == end[0] or end[0] + 1 != line or end[1] + 1 > column:
        return None
    what = "the quote that opens in line {0} closes only in line {1}"
    place = (start[0] + 1, start[1] + 1)
    return Explanation(what, "close it in line {0}", (start[0] + 1, line), place)
