"""The text of a message: rows are printed as ``_core/pattern/report.pyx`` prints places.

A row is a list: the path with what is expected, and the value found; or one string, finished rows.
Rows are printed to one string first, because CEL before 1.34 cannot flatten lists. Characters that
``strings.quote`` escapes mark its parts: each place ends with a line feed, a tab is before a quoted
string, a form feed before a double, a bell behind a path that may be too long, and vertical tabs
are around a quoted key. Parts that vary are then printed once, for the places that are shown.
"""

from policyd.export.expressions.cel import FALSE, OR, Cel, relation
from policyd.export.patterns.text import Path, every, some, string

ABSENT = "dyn(null)"  # the value of a row where nothing is found
_MAX_PLACES = 10
_MAX_PATH = 300
_MAX_FOUND = 80
_MAX_TEXT = 4096  # bytes of the places of a pattern, of which there is one at least
# See SECRETS of the core.
_SECRETS = (
    "data.",
    "data[",
    "stringData.",
    "stringData[",
    "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
)
_FOUND = (
    "r[1] == null ? 'nothing'"
    " : type(r[1]) == map ? (r[1] == {} ? 'an empty object' : 'an object')"
    " : type(r[1]) == list ? (r[1] == [] ? 'an empty list' : 'a list of ' + string(size(r[1])))"
    " : type(r[1]) == string"
    f" ? '\\t' + strings.quote(size(r[1]) > {_MAX_FOUND} ? r[1].substring(0, {_MAX_FOUND}) : r[1])"
    " : (type(r[1]) == double ? '\\f' : '') + string(r[1])"
)
# Characters that Python calls printable.
_PRINTABLE = r"r'^[\pL\pM\pN\pP\pS ]*$'"


class Wording:
    """Writes rows and prints them. ``secret``: the object may be a Secret, which ``root`` shows."""

    def __init__(self, root: str, *, secret: bool) -> None:
        self._secret = relation(f"{root}.?kind.orValue('')", "==", "'Secret'") if secret else FALSE
        self._cuts_paths = False
        self._longest = 0  # bytes of a place

    def row(self, path: Path, expected: str, value: str) -> str:
        """Return a row: a place where ``value`` is found."""
        known = path.size if path.expression.isascii() else None
        size = _MAX_PATH * 4 if known is None else known
        words = len(f": expected {expected}, found ".encode())
        self._longest = max(self._longest, size + words + _MAX_FOUND * 4)
        head = self._head(path, expected)
        plain = f"[dyn({head}), {value}]"
        hidden = FALSE if value == ABSENT else self._hidden(path)
        if hidden == FALSE:
            return plain
        hidden = every(hidden, relation(value, "!=", "null"))
        return f"({hidden.at(OR)} ? [dyn({head} + ', found a value\\n')] : {plain})"

    def _head(self, path: Path, expected: str) -> str:
        if not path.parts:
            return string(f"expected {expected}")
        if path.is_fixed:
            path = Path.fixed(cut(path.start, _MAX_PATH))
        elif path.size is None or path.size > _MAX_PATH:
            self._cuts_paths = True
            path = path.ending("\a")
        return path.ending(f": expected {expected}").expression

    def _hidden(self, path: Path) -> Cel:
        """Test whether the value at a path is confidential."""
        if path.start.startswith(_SECRETS):
            return self._secret
        possible = [each for each in _SECRETS if each.startswith(path.start)]
        if path.is_fixed or not possible:
            return FALSE
        text = f"({path.expression})"
        starts = (Cel(f"{text}.startsWith({string(each)})") for each in possible)
        return every(self._secret, some(*starts))

    def printed(self, rows: str) -> str:
        """Print rows to one string."""
        return (
            f"{rows}.map(r, size(r) == 1 ? r[0] : r[0] + ', found ' + ({_FOUND}) + '\\n').join('')"
        )

    def key_path(self, path: Path, key: str) -> Path:
        """Return the path of a key that is known only at run time."""
        dot = "'.' + " if path.parts else ""
        quoted = f"{key}.matches({_PRINTABLE}) ? {key} : '\\v' + strings.quote({key}) + '\\v'"
        text = f"({key}.matches('^[A-Za-z0-9_]+$') ? {dot}{key} : '[' + ({quoted}) + ']')"
        return Path((*path.parts, *Path.computed(text).parts))

    def longest(self, message: str, patterns: int) -> int:
        """Return the greatest number of bytes of a message, after all rows are written."""
        places = max(_MAX_TEXT // patterns, self._longest) + len("; and 1000000 more")
        return len(message.encode()) + len(" ()") + patterns * (places + len("pattern 10: ; "))

    def message(self, message: str, patterns: list[str], *, numbered: bool) -> str:
        """Return the message. ``patterns`` are the printed rows of each pattern; empty ones are
        those that do not apply.
        """
        limit = _MAX_TEXT // len(patterns)
        if numbered:
            texts = ", ".join(
                f"[{string(f'pattern {number}: ')}, {text}]"
                for number, text in enumerate(patterns, 1)
            )
            shown = f"p[1] == '' ? 'does not apply' : {self._shown('p[1]', limit)}"
            places = f"[{texts}].map(p, p[0] + ({shown})).join('; ')"
        else:
            (text,) = patterns
            places = f"[{text}].map(p, {self._shown('p', limit)})[0]"
        return f"{string(f'{message} (')} + {places} + ')'" if message else places

    def _shown(self, text: str, limit: int) -> str:
        """Print the first places, and the number of the others."""
        indexes = ", ".join(map(str, range(_MAX_PLACES)))
        first = f"[{indexes}].filter(i, i < size(l) - 1).map(i, {self._place('l[i]')})"
        size = "f.map(x, size(bytes(x)) + 2)"
        sizes = f"[{indexes}].filter(j, j <= i && j < size(z)).map(j, z[j]).sum()"
        fitting = (
            f"[{size}].map(z, [{indexes}].filter(i, i < size(z) && (i == 0 || {sizes} <= {limit})))"
        )
        more = "size(l) - 1 > size(n) ? '; and ' + string(size(l) - 1 - size(n)) + ' more' : ''"
        joined = f"n.map(i, f[i]).join('; ') + ({more})"
        return (
            f"[{text}.split('\\n')].map(l, [{first}].map(f, {fitting}.map(n, {joined})[0])[0])[0]"
        )

    def _place(self, text: str) -> str:
        """Print a place whose parts are marked."""
        value = f"s.contains('\\t') ? {_split('t', _strings())} : s.contains('\\f') ? "
        value += f"{_split('f', decimal_of('s[1]'))} : s"
        if not self._cuts_paths:
            return f"[{text}].map(s, {value})[0]"
        path = f"[{with_keys('s[0]')}].map(q, {_cut_at('q', _MAX_PATH)})[0]"
        marked = f"s.contains('\\a') ? [s.split('\\a')].map(s, {path} + s[1])[0] : s"
        return f"[{text}].map(s, {marked}).map(s, {value})[0]"


def _strings() -> str:
    return f"[{json_string('s[1]')}].map(q, {_cut_at('q', _MAX_FOUND)})[0]"


def _split(mark: str, printed: str) -> str:
    return f"[s.split('\\{mark}')].map(s, s[0] + {printed})[0]"


def cut(text: str, limit: int) -> str:
    """Cut a long text."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _cut_at(text: str, limit: int) -> str:
    return f"(size({text}) > {limit} ? {text}.substring(0, {limit - 3}) + '...' : {text})"


def decimal_of(text: str) -> str:
    """Return the decimal form of ``text``, an expression for what string() gives for a double.

    Go prints an exponent from 1e+06 on, policyd from 1e+16 on; policyd prints 1.0, Go 1.
    """
    point = "d.startsWith('-') ? int(n[1]) + 2 : int(n[1]) + 1"
    whole = "d + '000000000000000'.substring(0, p - size(d)) + '.0'"
    moved = f"size(d) <= p ? {whole} : d.substring(0, p) + '.' + d.substring(p)"
    spread = f"[n[0].replace('.', '')].map(d, [{point}].map(p, {moved})[0])[0]"
    return (
        f"[{text}].map(t, t.matches('e[+](0[0-9]|1[0-5])$')"
        f" ? [t.split('e+')].map(n, {spread})[0]"
        " : t.matches('[.e]') ? t : t + '.0')[0]"
    )


# JSON has no \a and \v, which ``strings.quote`` gives. Control characters and keys that are not
# printable are rare: strings without any are not taken apart.
_DIGITS = "'0123456789abcdef'"


def json_string(quoted: str) -> str:
    """Print a quoted string as ``json.dumps(…, ensure_ascii=False)``."""
    escaped = r"r'\u00' + '%x'.format([c])"
    taken_apart = _by_character("c < ' '", escaped)
    rare = r"r'[\x00-\x1f]|\\[av]'"
    return f"[{quoted}].map(q, q.matches({rare}) ? {taken_apart} : q)[0]"


def with_keys(path: str) -> str:
    """Print the quoted keys of a path, which are between vertical tabs, as ``json.dumps``."""
    keys = _by_character("c < ' ' || c > '~'", _ascii())
    parts = f"k.split('\\v').map(q, q.startsWith('\"') ? {keys} : q).join('')"
    return f"[{path}].map(k, k.contains('\\v') ? {parts} : k)[0]"


def _by_character(rare: str, escaped: str) -> str:
    """Print the quoted string ``q``; ``escaped`` prints its characters ``c`` that are ``rare``.

    Between double backslashes, which stand for one, a backslash always begins an escape.
    """
    replaced = r"w.replace(r'\a', r'\u0007').replace(r'\v', r'\u000b')"
    characters = f"{replaced}.split('').map(c, {rare} ? {escaped} : c).join('')"
    return rf"q.split(r'\\').map(w, {characters}).join(r'\\')"


def _ascii() -> str:
    r"""Print the character ``c`` as ``\uXXXX``: CEL shows the bytes of its UTF-8."""
    low = [f"n[{at}] % 4 * 16 + n[{at + 1}]" for at in (2, 4, 6)]
    points = (
        f"size(n) == 4 ? (n[0] % 2 * 16 + n[1]) * 64 + {low[0]}"
        f" : size(n) == 6 ? n[1] * 4096 + ({low[0]}) * 64 + {low[1]}"
        f" : n[1] % 8 * 262144 + ({low[0]}) * 4096 + ({low[1]}) * 64 + {low[2]}"
    )
    units = "u < 65536 ? [u] : [55296 + (u - 65536) / 1024, 56320 + (u - 65536) % 1024]"
    padded = r"['000' + '%x'.format([u])].map(z, r'\u' + z.substring(size(z) - 4))[0]"
    wide = f"[h.split('').map(d, {_DIGITS}.indexOf(d))].map(n, {points}).map(u, {units})[0]"
    escapes = f"{wide}.map(u, {padded}).join('')"
    return rf"['%x'.format([c])].map(h, size(h) == 2 ? r'\u00' + h : {escapes})[0]"
