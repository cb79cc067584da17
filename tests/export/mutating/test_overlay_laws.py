"""Laws of exported overlays, over made-up Pods: the export makes the same object as the source."""

from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from tests import policy_sets
from tests.export.mutating.builders import as_printed, outcome, overlaid, part_of
from tests.export.mutating.made_up import OVERLAYS, PODS
from tests.sampling import examples


@settings(
    max_examples=examples(120, 10),
    deadline=None,
    # A counterexample takes minutes to shrink; the first one says enough.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(OVERLAYS, st.lists(PODS, min_size=4, max_size=4), st.sampled_from(["Fail", "Ignore"]))
def test_an_exported_overlay_makes_the_same_object(
    tree: JSONObject, pods: list[JSONObject], failure_policy: str
) -> None:
    source = overlaid(tree, failurePolicy=failure_policy)
    try:
        policy_sets.load(source)
    except PolicyError:
        assume(False)
    part = part_of(source)
    event("exported" if not part.reasons else part.reasons[0].message)
    assume(not part.reasons)
    for pod in pods:
        sent = as_printed(pod)
        want = outcome([source], sent)
        assert outcome(part.documents, sent) == want
