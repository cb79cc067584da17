"""The time of every function of CEL on 1 MB of hostile input: the slowest of all shapes."""

from tests.core.lib.hostile import DEADLINE, cases, slowest

MEGABYTE = 1_000_000


def hostile() -> list[tuple[str, str, str]]:
    """CPU time, and what ended the evaluation; the deadline is 20 ms."""
    rows = []
    for name, case in cases().items():
        found = slowest(case, MEGABYTE)
        ended = found.ended or "a result"
        figure = f"{found.nanos / 1e6:6.2f} ms: {ended[:40]}"
        rows.append(
            (f"{case.expression[:30]:<30} {name[:50]}", figure, f"{DEADLINE // 10**6} + 50 ms")
        )
    return rows
