"""Scanner for escapes and classes of Go's regular expressions.

Each ``read_`` method reads from position ``at`` and advances it; the errors are Go's.
"""

from policyd._core.regex import classes

POSIX_NAMES = "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"
POSIX_CLASSES = frozenset(POSIX_NAMES.split())
PERL_CLASSES = frozenset(("\\d", "\\D", "\\s", "\\S", "\\w", "\\W"))
C_ESCAPES = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}


class RegexSyntaxError(ValueError):
    """Go's error message: ``error parsing regexp: missing closing ): `a(` ``."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


class Scanner:
    """A pattern and a position in it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def read_unicode_class(self) -> str:
        """``\\pL`` or ``\\p{Greek}`` as members of a class."""
        start = self.at
        negated = self.pattern[start + 1] == "P"
        if self.pattern.startswith("{", start + 2):
            end = self.pattern.find("}", start)
            if end < 0:
                raise RegexSyntaxError("invalid character class range", self.pattern[start:])
            name = self.pattern[start + 3 : end]
            self.at = end + 1
        else:
            name = self.pattern[start + 2 : start + 3]
            self.at = start + 2 + len(name)
        whole = self.pattern[start : self.at]
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        found = classes.members(name, negated=negated)
        if found is None:
            raise RegexSyntaxError("invalid character class range", whole)
        return found

    def read_escape(self) -> int:
        """The code point of an escape like ``\\n``, ``\\x41`` or ``\\.`` at ``at``."""
        start = self.at
        self.at += 2
        char = self.pattern[start + 1 : start + 2]
        if not char:
            raise RegexSyntaxError("trailing backslash at end of expression", "")
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self.pattern[self.at : self.at + 1] in tuple("01234567"):
                digits += self.pattern[self.at]
                self.at += 1
            if char == "0" or len(digits) > 1:
                return int(digits, 8)
        elif char == "x":
            if (point := self.read_hex()) is not None:
                return point
        elif char in C_ESCAPES:
            return C_ESCAPES[char]
        elif char.isascii() and not char.isalnum():
            return ord(char)
        raise RegexSyntaxError("invalid escape sequence", self.pattern[start : self.at])

    def read_hex(self) -> int | None:
        """The code point after ``\\x``; None, with ``at`` where Go stops, if it is invalid."""
        if not self.pattern.startswith("{", self.at):
            digits = self.pattern[self.at : self.at + 2]
            self.at += len(digits)
            return int(digits, 16) if len(digits) == 2 and is_hex(digits) else None
        self.at += 1
        point, count = 0, 0
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            self.at += 1
            if char == "}":
                return point if count else None
            if not is_hex(char):
                return None
            point = point * 16 + int(char, 16)
            if point > 0x10FFFF:
                return None
            count += 1
        return None

    def read_class(self, start: int) -> str:
        """``[a-z]`` for RE2; ``at`` is after the bracket at ``start``."""
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        members: list[str] = []
        first = True
        while first or not self.pattern.startswith("]", self.at):
            first = False
            members.append(self.read_member(start))
        self.at += 1
        return bracket("".join(members), negated)

    def read_member(self, start: int) -> str:
        rest = self.pattern[self.at : self.at + 3]
        if len(rest) > 2 and rest.startswith("[:"):
            end = self.pattern.find(":]", self.at + 2)
            if end >= 0:
                name = self.pattern[self.at : end + 2]
                if name[2:-2].removeprefix("^") not in POSIX_CLASSES:
                    raise RegexSyntaxError("invalid character class range", name)
                self.at = end + 2
                return name
        if rest[:2] in ("\\p", "\\P"):
            return self.read_unicode_class()
        if rest[:2] in PERL_CLASSES:
            self.at += 2
            return rest[:2]
        begin = self.at
        low = high = self.read_class_char(start)
        rest = self.pattern[self.at : self.at + 2]
        if len(rest) == 2 and rest[0] == "-" and rest[1] != "]":
            self.at += 1
            high = self.read_class_char(start)
            if high < low:
                raise RegexSyntaxError(
                    "invalid character class range", self.pattern[begin : self.at]
                )
        return f"\\x{{{low:X}}}-\\x{{{high:X}}}" if high > low else f"\\x{{{low:X}}}"

    def read_class_char(self, start: int) -> int:
        if self.at >= len(self.pattern):
            raise RegexSyntaxError("missing closing ]", self.pattern[start:])
        if self.pattern[self.at] == "\\":
            return self.read_escape()
        self.at += 1
        return ord(self.pattern[self.at - 1])


def bracket(members: str, negated: bool) -> str:
    """A class in RE2. RE2 has no empty class, so it is the negation of everything."""
    if not members:
        members, negated = classes.MEMBERS_OF_ALL, not negated
    return f"[{'^' if negated else ''}{members}]"


def is_hex(text: str) -> bool:
    return all(char in "0123456789abcdefABCDEF" for char in text)
