"""Turn what ``strings.quote`` gives into JSON, which has no ``\\a`` and ``\\v``.

Control characters and keys that are not printable are rare: strings without any are not taken
apart.
"""

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
