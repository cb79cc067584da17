"""policyd's CEL beside that of Kubernetes: thousands of random expressions, compared in value, type, error text, stage and cost.

``make fuzz-cel N=100000 SEED=7`` asks as many as wanted, and others; ``K8S=1.36`` compares with that
version of Kubernetes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import kubernetes
from tests.fuzz import compare, go_values, oracle, questions
from tests.sampling import portion

SEED = 1


@pytest.mark.parametrize(
    ("make", "count", "rare"),
    [
        (questions.typed, 4_000, 0),
        (questions.untyped, 2_000, 0),
        (questions.misfits, 1_000, 0),
        (questions.misspelt, 500, 0),
        (questions.admission, 1_000, 0),
        # Made of recorded rows: each new row makes others of them. What is still found once in
        # 20,000 must not fail whoever adds one; ``make fuzz-cel`` shows it.
        (questions.spliced, 3_000, 3),
        # Which member of a struct Go compares first is random.
        (go_values.questions, 4_000, 4),
    ],
)
def test_random_expressions_answer_as_in_kubernetes(
    make: Callable[[int, int], Iterator[dict[str, Any]]], count: int, rare: int
) -> None:
    try:
        oracle.program(kubernetes.chosen())
    except kubernetes.Unavailable as reason:
        pytest.skip(str(reason))
    if make is go_values.questions and kubernetes.chosen() == "1.36":
        pytest.skip("1.36 reads built-in kinds as JSON")
    if kubernetes.chosen() in kubernetes.AHEAD:
        rare += 2  # huge quantities, see docs/reference/kubernetes-versions.md
    count = portion(count)
    wrong = list(compare.differences(list(make(count, SEED))))
    print(f"{count - len(wrong)} passed of {count}", *wrong[:20], sep="\n")
    assert len(wrong) <= rare, "\n".join(map(str, wrong[:20]))
