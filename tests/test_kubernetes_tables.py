"""What ``make kubernetes`` needs is there for each supported version, and it prints what is missing."""

import pytest

from policyd.mutation.schemas.tables import read_table
from policyd.versions import SUPPORTED, KubernetesVersion
from tests import kubernetes
from tools.kubernetes import modules
from tools.kubernetes.__main__ import main


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_the_table_of_a_version_is_that_of_its_release(version: KubernetesVersion) -> None:
    assert read_table(version)[0]["version"] == f"v{modules.RELEASES[str(version)]}"


def test_missing_rows_are_left_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("1.99") == 1
    left = capsys.readouterr().out
    for file in ("policyd/versions.py", "tools/kubernetes/modules.py", "tests/kubernetes.py"):
        assert f"left: {file}: " in left


def test_a_pre_release_is_built_with_its_own_toolchain() -> None:
    assert not set(kubernetes.AHEAD) & set(kubernetes.RELEASES)
    for version in kubernetes.AHEAD:
        assert version in kubernetes.MOVED
        assert kubernetes.go_environment(version)["GOTOOLCHAIN"] == kubernetes.TOOLCHAINS[version]
