"""Lines that are indented wrongly, and what is missing at their start or end."""

import yaml

from policyd.policy.source.yaml_text.rows import Explanation, YamlRow, before, has_content


def tab(lines: list[str], line: int) -> Explanation | None:
    """A tab in the indentation of a line."""
    text = lines[line - 1]
    blank = text[: len(text) - len(text.lstrip())]
    if "\t" not in blank:
        return None
    what = "line {0} is indented with a tab"
    return Explanation(what, "YAML is indented with spaces, not tabs", (line,))


def indentation(lines: list[str], line: int) -> Explanation | None:
    """A line at a column where nothing above it begins."""
    row = YamlRow.of(lines[line - 1])
    above = before(lines, line)
    open_ = _open(lines[: line - 1])
    if not above or row.indent in open_:
        return None
    siblings = min(open_, key=lambda column: (abs(column - row.indent), -column), default=0)
    what = f"line {{0}} is indented by {row.indent}, its siblings by {siblings}"
    return Explanation(what, f"indent it by {siblings}", (line,))


def _open(lines: list[str]) -> list[int]:
    """Return the columns at which a line after these may continue something."""
    found: list[int] = []
    for line in filter(has_content, lines):
        row = YamlRow.of(line)
        found = [column for column in found if column < row.indent]
        found += row.columns
    return found


def item(lines: list[str], line: int, began: tuple[int, int]) -> Explanation | None:
    """A line in a list without its ``- ``, or a list item between fields."""
    row = YamlRow.of(lines[line - 1])
    if row.dashes:
        if row.indent == began[1] - 1:
            what = "line {0} begins a list item, but line {1} a field at the same column"
            hint = "indent it below the field that it is for, or remove the '- '"
            return Explanation(what, hint, (line, began[0]))
        return None
    if row.indent == began[1] - 1 and YamlRow.of(lines[began[0] - 1]).dashes:
        what = "line {0} is in the list of line {1} and lacks its '- '"
        hint = f"begin it with '- ', or indent it by {row.indent + 2} if it is of the item above"
        return Explanation(what, hint, (line, began[0]))
    return None


def deeper(lines: list[str], line: int, column: int) -> Explanation | None:
    """``key:`` where the line above it has a value already, no colon, or no blank after it."""
    row, above = YamlRow.of(lines[line - 1]), before(lines, line)
    if row.key is None or column - 1 != row.start + len(row.key) or not above:
        return None
    former = YamlRow.of(lines[above - 1])
    if former.key is None:
        text = lines[above - 1].strip().lstrip("- ")
        name, sign, value = text.partition(":")
        if sign and value and name.isidentifier():
            what = "line {0} has no blank after ':'"
            return Explanation(what, f"write {name}: {value}", (above,), (above, former.start + 1))
        if text.isidentifier():
            what = "line {0} has no ':'"
            return Explanation(what, f"write {text}:", (above,), (above, former.start + 1))
        return None
    if former.value and row.indent > former.start:
        what = f"line {{0}} is indented by {row.indent}, but line {{1}} already has a value"
        return Explanation(what, f"indent line {{0}} by {former.start}", (line, above))
    return None


def duplicate_hint(name: str, key: yaml.Node) -> str:
    """Return the remedy for a key that is there twice."""
    if name in ("apiVersion", "kind", "metadata") and key.start_mark.column == 0:
        return "first defined in line {0}: write --- between two documents"
    return "first defined in line {0}: remove one, or begin another list item with '- '"


def no_key(lines: list[str], line: int) -> Explanation:
    """A line that is no ``key: value``, where one is expected."""
    row, above = YamlRow.of(lines[line - 1]), before(lines, line)
    place = (line, row.start + 1)
    text = lines[line - 1].strip()
    name, sign, value = text.partition(":")
    if sign and value and name.lstrip("- ").isidentifier():
        hint = f"write {name}: {value}"
        return Explanation("line {0} has no blank after ':'", hint, (line,), place)
    if above and YamlRow.of(lines[above - 1]).key is not None:
        column = YamlRow.of(lines[above - 1]).start + 2
        hint = f"indent it by {column} if it is of the value of line {{1}}; else write key: value"
        return Explanation("line {0} has neither a key nor a value", hint, (line, above), place)
    return Explanation("line {0} has no ':'", f"write {text[:40]}:", (line,), place)
