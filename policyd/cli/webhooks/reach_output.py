"""How commands print by which webhooks policies are reached. Finds nothing."""

from collections import Counter
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
    numbers: Counter[str] = Counter(each.state for each in results)
    missing = [state for state in ("partly reached", "not reached") if numbers[state]]
    listed = ", ".join(f"{numbers[state]} {state}" for state in missing) or "all reached"
    yield f"{counted(len(results), 'policy', 'policies')}: {listed}"


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
