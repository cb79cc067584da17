"""Parses Go's regular expressions, with Go's errors, and translates them to RE2 syntax.

The grammar is from ``regexp/syntax``, with the flag Perl. The result needs no flags and has no
capturing groups: each item has its own ``(?i:…)``, ``^`` and ``$`` are ``\\A`` and ``\\z`` unless
``(?m)`` is set, literals are escaped. Each pattern is parsed once, when it is first used.
"""

from dataclasses import dataclass, replace

from policyd._core.regex.items import (
    ALTERNATION,
    Flags,
    Group,
    Item,
    concatenate,
    escape,
    plain_choices,
    repeated_size,
)
from policyd._core.regex.scanner import PERL_CLASSES, RegexSyntaxError, Scanner, bracket

MAX_REPEAT = 1000
MAX_HEIGHT = 1000
MAX_SIZE = (128 << 20) // 40  # instructions: Go's limit, 128 MB at 40 bytes each

ASSERTIONS = {"A": r"\A", "b": r"\b", "B": r"\B", "z": r"\z"}


@dataclass(frozen=True, slots=True)
class Parsed:
    """``text``: the RE2 syntax; ``items``: the parts in order, None if there are alternatives."""

    text: str
    items: tuple[Item, ...] | None


def parse(pattern: str) -> Parsed:
    """Raises RegexSyntaxError."""
    parser = Parser(pattern)
    item = parser.run()
    return Parsed(item.text, tuple(parser.top[0]) if len(parser.top) == 1 else None)


class Parser(Scanner):
    """One pass over the pattern with an explicit stack of groups; no recursion."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.flags = Flags()
        self.stack = [Group(self.flags)]
        self.last_repeat = -1  # where the last operator began
        self.top: list[list[Item]] = []

    def run(self) -> Item:
        pattern = self.pattern
        while self.at < len(pattern):
            repeat = -1
            char = pattern[self.at]
            if char in "*+?":
                repeat = self.at
                self.repeat(0, 1 if char == "?" else -1, self.at + 1, counted=False)
            elif char == "{" and (counts := self.parse_counts()) is not None:
                repeat = self.at
                self.counted_repeat(*counts)
            else:
                self.parse_item(char)
            self.last_repeat = repeat
        if len(self.stack) != 1:
            raise RegexSyntaxError("missing closing )", pattern)
        self.top = self.stack[0].alternatives
        return self.close(self.stack[0])

    def parse_item(self, char: str) -> None:
        """Parse anything but a repetition operator."""
        self.at += 1
        if char == "(":
            if self.pattern.startswith("?", self.at):
                self.parse_perl_group(self.at - 1)
            else:
                self.open(captures=True)
        elif char == ")":
            if len(self.stack) == 1:
                raise RegexSyntaxError("unexpected )", self.pattern)
            group = self.stack.pop()
            self.flags = group.flags
            item = self.close(group)
            choices = plain_choices(group)
            self.push(
                replace(
                    item,
                    text=f"(?:{item.text})",
                    literal=None,
                    choices=choices,
                    repeated=False,
                    height=item.height + group.captures,
                    node="" if group.captures else item.node,
                )
            )
        elif char == "|":
            self.stack[-1].alternatives.append([])
        elif char == "^":
            self.push(Item("(?m:^)" if self.flags.multi_line else r"\A"))
        elif char == "$":
            self.push(Item("(?m:$)" if self.flags.multi_line else r"\z"))
        elif char == ".":
            self.push(Item("(?s:.)" if self.flags.dot_all else "."))
        elif char == "[":
            self.push_class(self.read_class(self.at - 1))
        elif char == "\\":
            self.parse_backslash(self.at - 1)
        else:
            self.push_literal(ord(char))

    def open(self, *, captures: bool) -> None:
        # Go limits the height of its tree; RE2 also limits the parentheses.
        if len(self.stack) > MAX_HEIGHT:
            raise RegexSyntaxError("expression nests too deeply", self.pattern)
        self.stack.append(Group(self.flags, captures))

    def push(self, item: Item) -> None:
        if item.height > MAX_HEIGHT:
            raise RegexSyntaxError("expression nests too deeply", self.pattern)
        if item.size > MAX_SIZE:
            raise RegexSyntaxError("expression too large", self.pattern)
        self.stack[-1].alternatives[-1].append(item)

    def push_literal(self, point: int) -> None:
        char = chr(point)
        self.push(Item(escape(point), fold_case=self.flags.fold_case, literal=char))

    def push_class(self, text: str) -> None:
        self.push(Item(text, fold_case=self.flags.fold_case))

    def close(self, group: Group) -> Item:
        """The content of the group as one item."""
        branches = [concatenate(items) for items in group.alternatives]
        if len(branches) == 1:
            return branches[0]
        return Item(
            "|".join(branch.text for branch in branches),
            copies=max(branch.copies for branch in branches),
            height=1 + max(branch.height - (branch.node == ALTERNATION) for branch in branches),
            size=sum(branch.size for branch in branches) + len(branches) - 1,
            node=ALTERNATION,
        )

    # Repetition

    def parse_counts(self) -> tuple[int, int, int] | None:
        """``{2,5}`` as (2, 5, where it ends); no maximum is -1, a huge number makes low -1."""
        low, at = self.parse_int(self.at + 1)
        if low is None or at >= len(self.pattern):
            return None
        high: int | None = low
        if self.pattern[at] == ",":
            if self.pattern.startswith("}", at + 1):
                high, at = -1, at + 1
            else:
                high, at = self.parse_int(at + 1)
                if high is None:
                    return None
                if high < 0:
                    low = -1
        if not self.pattern.startswith("}", at) or high is None:
            return None
        return low, high, at + 1

    def parse_int(self, at: int) -> tuple[int | None, int]:
        end = at
        while end < len(self.pattern) and self.pattern[end] in "0123456789":
            end += 1
        digits = self.pattern[at:end]
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None, at
        return (int(digits) if len(digits) <= 9 else -1), end

    def counted_repeat(self, low: int, high: int, end: int) -> None:
        if low < 0 or low > MAX_REPEAT or high > MAX_REPEAT or 0 <= high < low:
            raise RegexSyntaxError("invalid repeat count", self.pattern[self.at : end])
        self.repeat(low, high, end, counted=True)

    def repeat(self, low: int, high: int, end: int, *, counted: bool) -> None:
        """Apply the operator from ``at`` to ``end`` to the item before it."""
        start = self.at
        operator = self.pattern[start:end]
        greedy = not self.flags.ungreedy
        if self.pattern.startswith("?", end):
            end += 1
            greedy = not greedy
        if self.last_repeat >= 0:
            raise RegexSyntaxError(
                "invalid nested repetition operator", self.pattern[self.last_repeat : end]
            )
        items = self.stack[-1].alternatives[-1]
        if not items:
            raise RegexSyntaxError(
                "missing argument to repetition operator", self.pattern[start:end]
            )
        item = items.pop()
        inner = f"(?i:{item.text})" if item.fold_case else item.text
        if item.repeated:
            inner = f"(?:{inner})"
        copies = item.copies
        if counted:
            copies = 1 if high == 0 else copies * max(low if high < 0 else high, 1)
            if copies > MAX_REPEAT and (low >= 2 or high >= 2):
                raise RegexSyntaxError("invalid repeat count", self.pattern[start:end])
            operator = "+" if (low, high) == (1, -1) else operator
        self.at = end
        text = inner + operator + ("" if greedy else "?")
        size = repeated_size(item.size, low, high, counted=counted, plus=operator == "+")
        self.push(Item(text, repeated=True, copies=copies, height=item.height + 1, size=size))

    # Groups

    def parse_perl_group(self, start: int) -> None:
        """``(?P<name>``, ``(?<name>``, ``(?flags)``, ``(?flags:``; ``start``: the parenthesis."""
        rest = len(self.pattern) - start
        for intro, shortest in (("(?P<", 4), ("(?<", 3)):
            if rest > shortest and self.pattern.startswith(intro, start):
                self.parse_capture_name(start, start + len(intro))
                return
        flags, end, opens = self.parse_flags(start)
        self.at = end
        if opens:
            self.open(captures=False)
        self.flags = flags

    def parse_capture_name(self, start: int, name_start: int) -> None:
        end = self.pattern.find(">", start)
        if end < 0:
            raise RegexSyntaxError("invalid named capture", self.pattern[start:])
        name = self.pattern[name_start:end]
        if not name or not all(char == "_" or (char.isascii() and char.isalnum()) for char in name):
            raise RegexSyntaxError("invalid named capture", self.pattern[start : end + 1])
        self.open(captures=True)
        self.at = end + 1

    def parse_flags(self, start: int) -> tuple[Flags, int, bool]:
        """The new flags, the position after them, and whether a group opens there."""
        names = {"i": "fold_case", "m": "multi_line", "s": "dot_all", "U": "ungreedy"}
        changes: dict[str, bool] = {}
        positive, saw_flag = True, False
        at = start + 2
        while at < len(self.pattern):
            char = self.pattern[at]
            at += 1
            if char in names:
                changes[names[char]] = positive
                saw_flag = True
            elif char == "-" and positive:
                positive, saw_flag = False, False
            elif char in ":)" and (positive or saw_flag):
                return replace(self.flags, **changes), at, char == ":"
            else:
                break
        raise RegexSyntaxError("invalid or unsupported Perl syntax", self.pattern[start:at])

    # Backslashes

    def parse_backslash(self, start: int) -> None:
        following = self.pattern[self.at : self.at + 1]
        if following in ASSERTIONS:
            self.at += 1
            self.push(Item(ASSERTIONS[following]))
        elif following == "C":
            raise RegexSyntaxError("invalid escape sequence", r"\C")
        elif following == "Q":
            end = self.pattern.find("\\E", self.at + 1)
            literal = self.pattern[self.at + 1 : end if end >= 0 else len(self.pattern)]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            for char in literal:
                self.push_literal(ord(char))
        elif following and following in "pP":
            self.at = start
            self.push_class(bracket(self.read_unicode_class(), False))
        elif "\\" + following in PERL_CLASSES:
            self.at += 1
            self.push_class("\\" + following)
        else:
            self.at = start
            self.push_literal(self.read_escape())
