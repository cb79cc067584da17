"""What tests rely on when they ask the oracle: each version's own program, and the environments of older ones."""

import pytest

from tests import kubernetes
from tests.fuzz import oracle

ESCAPED = "{'a-b': 1}.`a-b`"


@pytest.fixture(params=kubernetes.RELEASES)
def version(request: pytest.FixtureRequest) -> str:
    try:
        oracle.program(request.param)
    except kubernetes.Unavailable as reason:
        pytest.skip(str(reason))
    return str(request.param)


def test_each_version_answers_with_its_own_language(version: str) -> None:
    (answer,) = oracle.ask([{"expression": ESCAPED, "version": version}])
    if version == "1.36":
        assert "unsupported syntax: '`'" in answer["error"]
    else:
        assert answer["value"] == 1


def test_environments_of_older_versions_lack_later_functions(version: str) -> None:
    assert signatures("1.33", "lists.range") == []
    assert signatures("1.34", "lists.range") == ["lists.range(int) -> list(int)"]
    assert signatures(version, "lists.range") == ["lists.range(int) -> list(int)"]


def test_only_the_newest_has_includes(version: str) -> None:
    newest = version == kubernetes.NEWEST
    assert signatures(version, "includes") == ["dyn.includes(dyn) -> bool"] * newest


def signatures(version: str, function: str) -> list[str]:
    (listed,) = oracle.ask([{"list": True, "version": version}])
    return [each["signature"] for each in listed["overloads"] if each["function"] == function]
