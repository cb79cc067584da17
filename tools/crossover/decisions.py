"""Which policies a policyd has evaluated, by its metrics: the others were not measured."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tools.crossover.fetching import Unfetched, fetched
from tools.crossover.model import Arrangement

_METRIC, _POLICY = "policyd_policy_decisions_total{", 'policy="'


def decisions(urls: Iterable[str]) -> Counter[str] | None:
    """Return how often policies have decided, by their names; None if a URL does not answer."""
    found: Counter[str] = Counter()
    for url in urls:
        try:
            lines = fetched(url).splitlines()
        except Unfetched:
            return None  # said already, of the CPU time
        for line in lines:
            if line.startswith(_METRIC):
                labels, _, count = line.rpartition(" ")
                found[labels.partition(_POLICY)[2].partition('"')[0]] += int(float(count))
    return found


def idle_policies(
    arrangements: Iterable[Arrangement], before: Counter[str] | None, after: Counter[str] | None
) -> Sequence[str]:
    """Return a remark about the policies that policyd was called for, and that decided nothing."""
    if before is None or after is None:
        return ()
    called = {p for each in arrangements if each.engine == "webhook" for p in each.policies}
    idle = sorted(policy for policy in called if after[policy] == before[policy])
    if not idle:
        return ()
    return (
        f"policyd evaluated nothing of {', '.join(idle)}: it has not loaded them, or they match "
        "none of these requests",
    )
