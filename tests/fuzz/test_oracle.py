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
    names = ("1.33", "1.34", version)
    listed = oracle.ask([{"list": True, "version": name} for name in names])
    having = {
        name: "lists.range" in found["functions"] for name, found in zip(names, listed, strict=True)
    }
    assert having == {"1.33": False, "1.34": True, version: True}
    overload = listed[1]["functions"]["lists.range"]["lists_range"]
    assert overload == {"member": False, "arguments": ["int"], "result": "list(int)"}


def test_only_the_newest_has_includes(version: str) -> None:
    (listed,) = oracle.ask([{"list": True, "version": version}])
    assert ("includes" in listed["functions"]) == (version == "1.37")
