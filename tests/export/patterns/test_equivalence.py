"""Any pattern and its translation give the same verdict and the same message for any object, here and in
Kubernetes' own CEL (tests/oracle).
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.json_types import JSONObject
from policyd.versions import NEWEST, OLDEST, KubernetesVersion
from tests import kubernetes
from tests.export.patterns.generators import like
from tests.export.patterns.translated import Translated, translated, validation
from tests.fuzz import oracle
from tests.sampling import examples, sampled

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


PATTERNS, ASKED = 12, 3
OLD = "1.31"  # without numbered loops and sort()


def cases(version: str) -> Iterator[tuple[Translated, JSONObject]]:
    """Random patterns, each with objects."""
    random = Random(version)
    for _ in range(PATTERNS):
        item, tree = validation(random)
        made = translated(item, version=KubernetesVersion.parse(version))
        for _ in range(ASKED):
            obj = like(random, tree)
            if isinstance(obj, dict):
                yield made, obj


def question(expression: str, obj: Any, version: str) -> JSONObject:
    """What a policy that is written may use: that of the version before."""
    major, minor = version.split(".")
    asked: JSONObject = {"expression": expression, "variables": {"object": obj}, "mode": "vap"}
    return {**asked, "version": f"{major}.{int(minor) - 1}"}


@pytest.mark.parametrize("version", sampled([OLD, "1.34", kubernetes.NEWEST]))
def test_kubernetes_evaluates_a_translation_alike(version: str) -> None:
    try:
        oracle.program(kubernetes.NEWEST)
    except kubernetes.Unavailable as reason:
        pytest.skip(str(reason))
    asked = list(cases(version))
    answers = oracle.ask(
        question(text, obj, version)
        for made, obj in asked
        for text in (made.text.expression, made.text.message_expression)
    )
    pairs = zip(answers[::2], answers[1::2], strict=True)
    for (made, obj), (verdict, message) in zip(asked, pairs, strict=True):
        report = made.pattern.check(obj)
        assert verdict.get("value") is (report is None), (verdict, obj, made.text.expression)
        if report is not None:
            assert message.get("value") == report, (message, obj, made.text.message_expression)
