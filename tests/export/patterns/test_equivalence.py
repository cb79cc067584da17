"""Any pattern and its translation give the same verdict and the same message for any object."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.versions import NEWEST, OLDEST, KubernetesVersion
from tests.export.patterns.generators import like
from tests.export.patterns.translated import translated, validation
from tests.sampling import examples

VERSIONS = [OLDEST, KubernetesVersion(1, 33), NEWEST]
OBJECTS = 35  # for each pattern: its compilation takes most of the time


@settings(max_examples=examples(60, 10), deadline=None)
@given(st.randoms(use_true_random=True), st.sampled_from(VERSIONS))
def test_a_translation_is_the_pattern(random: Random, version: KubernetesVersion) -> None:
    item, tree = validation(random)
    made = translated(item, version=version)
    for _ in range(OBJECTS):
        obj = like(random, tree)
        if not isinstance(obj, dict):
            continue
        if random.random() < 0.2:
            obj["kind"] = "Secret"
        assert made.denied(obj) == made.pattern.check(obj), (item, obj)
