"""Print a double as JSON does in the core: 1000000.5 where CEL's string() gives 1.0000005e+06."""


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
