"""Random policies of every form, exported and loaded again, answer as their sources."""

from random import Random

import pytest

from policyd.policy.compile.compiler import check
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST
from tests.export.comparing import compare, export_of
from tests.export.random_policies import random_policy
from tests.export.random_requests import requests

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_export_answers_as_its_source(seed: int) -> None:
    random = Random(seed)
    policy = random_policy(random, "p")
    asked = requests(random, 25)
    assert check(load_built([policy], version=NEWEST)) == []
    if export_of(policy).exported:
        compare([policy], asked)
