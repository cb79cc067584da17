"""Words and cells that the formats share: the names of a summary's values. Formats nothing."""

from collections.abc import Callable, Iterator
from datetime import UTC

from policyd.reports.summary import ReportedFinding, Summary

# Control characters, which terminals interpret and HTML forbids, and characters that reorder the
# text around them: output must not be able to disguise itself.
_HOSTILE = dict.fromkeys(
    (
        *range(0x20),
        *range(0x7F, 0xA0),
        0x061C,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
        0xFEFF,
    ),
    "\N{REPLACEMENT CHARACTER}",
)


def printable(text: str, most: int) -> str:
    """Return a string in one line of at most ``most`` characters, without control characters."""
    words = " ".join(text[: 2 * most].split()).translate(_HOSTILE)
    return words if len(words) <= most and len(text) <= 2 * most else f"{words[: most - 1]}…"


def plural(value: int, noun: str, several: str = "", *, shown: Callable[[int], str] = str) -> str:
    """Return ``1 object`` or ``2000 objects``."""
    return f"{shown(value)} {noun if value == 1 else several or noun + 's'}"


def started(summary: Summary) -> str:
    """Return when the run started, to the second, in UTC."""
    return summary.started.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def scope(summary: Summary) -> str:
    """Return the namespaces that the run scanned."""
    names = ", ".join(summary.namespaces)
    word = "namespace" if len(summary.namespaces) == 1 else "namespaces"
    return f"{word} {names}" if names else "the whole cluster"


def facts(summary: Summary, *, shown: Callable[[int], str] = str) -> Iterator[tuple[str, str]]:
    """Yield the facts about a run, each with its name."""
    version = f" (Kubernetes {summary.cluster_version})" if summary.cluster_version else ""
    yield "Cluster", summary.cluster + version
    yield "Scanned", f"{plural(summary.objects, 'object', shown=shown)} in {scope(summary)}"
    if summary.owned:
        left = plural(summary.owned, "object", shown=shown)
        yield "Left out", f"{left} whose owners were checked instead"
    yield "Started", f"{started(summary)}, took {duration(summary.seconds)}"
    yield "Reports", writes(summary, shown=shown)


def duration(seconds: float) -> str:
    """Return ``4.2 s``, or ``2 min 5 s`` from a minute on."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def writes(summary: Summary, *, shown: Callable[[int], str] = str) -> str:
    """Return the counts of written and deleted reports, or of those that would be."""
    done = summary.reports
    would = "would be " if done.dry_run else ""
    return (
        f"{summary.api}: {shown(done.written)} {would}written, {shown(done.unchanged)} unchanged, "
        f"{shown(done.deleted)} {would}deleted, {shown(done.failed)} failed"
    )


def reason(finding: ReportedFinding) -> str:
    """Return why a finding is not enforced or does not count, unless its message says so."""
    notes = []
    if finding.rollout:
        notes.append(f"not enforced: {finding.rollout}")
    if finding.exception not in finding.message:
        notes.append(f"exception {finding.exception}")
    return "; ".join(notes)


def rank(words: tuple[str, ...], word: str) -> int:
    """Return the position of a word in an order; unknown words come last."""
    return words.index(word) if word in words else len(words)
