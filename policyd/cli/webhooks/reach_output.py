"""How commands print by which webhooks policies are reached. Finds nothing."""

from collections.abc import Iterator, Sequence

from policyd.cli.shared.output import counted, fields_json, styled
from policyd.json_types import JSONObject
from policyd.webhooks.reach.reach_result import Reached, State

_COLOURS: dict[State, str] = {
    "reached": "green",
    "partly reached": "yellow",
    "not reached": "red",
}


def reach_text(results: Sequence[Reached], *, verbose: bool) -> Iterator[str]:
    """Yield a line for each policy, with its gaps, and a summary; ``verbose``: also the rules by
    which policies are reached, and notes.
    """
    for each in results:
        state = styled(each.state, fg=_COLOURS[each.state])
        yield f"{styled(each.policy, bold=True)} ({each.kind}): {state}"
        for gap in each.gaps:
            yield f"  - {gap}"
        if verbose:
            for by in each.by:
                yield f"  by {by.configuration} / {by.webhook}, rules[{by.rule}]"
            for note in each.notes:
                yield f"  note: {note}"
    yield summary(results)


def summary(results: Sequence[Reached]) -> str:
    """Return how many policies are reached."""
    parts = [counted(len(results), "policy", "policies")]
    for state in ("partly reached", "not reached"):
        number = sum(each.state == state for each in results)
        if number:
            parts.append(f"{number} {state}")
    return ": ".join((parts[0], ", ".join(parts[1:]) or "all reached"))


def reach_json(results: Sequence[Reached]) -> list[JSONObject]:
    """Return the same as JSON."""
    return [
        {
            **fields_json(each, "policy", "kind", "state"),
            "by": [fields_json(by, "kind", "configuration", "webhook", "rule") for by in each.by],
            **fields_json(each, "gaps", "notes"),
        }
        for each in results
    ]


def all_reached(results: Sequence[Reached]) -> bool:
    """Whether no policy has gaps."""
    return all(each.state == "reached" for each in results)
