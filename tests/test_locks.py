"""The locks have what pyproject.toml asks for, with hashes, and CI tests the versions of the image."""

from pathlib import Path

import pytest

from tools.image import settings
from tools.supply import locks


def test_the_locks_agree_with_pyproject() -> None:
    hint = "run: python -m tools.supply.locks"
    assert list(locks.problems(settings.LOCK, settings.dependencies())) == [], hint
    assert list(locks.problems(locks.DEVELOPMENT, settings.development())) == [], hint
    assert list(locks.problems(locks.RELEASE, settings.release())) == [], hint
    assert list(locks.differences()) == [], hint


def test_the_locks_are_for_both_machines() -> None:
    """Compiled wheels have a hash each."""
    compiled = {settings.LOCK: "orjson", locks.DEVELOPMENT: "orjson", locks.RELEASE: "ziglang"}
    for lock, package in compiled.items():
        _, _, rest = lock.read_text().partition(f"\n{package}==")
        assert rest.split("\n", 3)[1].strip().startswith("--hash=sha256:")
        assert rest.split("\n", 3)[2].strip().startswith("--hash=sha256:")


@pytest.mark.parametrize(
    ("line", "requirement", "want"),
    [
        ("a-b==1.2 --hash=sha256:" + "0" * 64, "A_b[extra]>=1.2", []),
        ("a==1.2 --hash=sha256:" + "0" * 64, "b", ["x.lock: b is missing"]),
        ("a==1.2 --hash=sha256:" + "0" * 64, "a>=1.10", ["x.lock: a is 1.2, and pyproject.toml wants >=1.10"]),
        ("a==1.2", "a", ["x.lock: no hash: a==1.2"]),
        ("a==1.2 --hash=md5:00", "a", ["x.lock: no hash: a==1.2 --hash=md5:00"]),
    ],
)  # fmt: skip
def test_what_a_lock_lacks_is_reported(
    tmp_path: Path, line: str, requirement: str, want: list[str]
) -> None:
    lock = tmp_path / "x.lock"
    lock.write_text(f"# heading\n{line}\n")
    assert list(locks.problems(lock, [requirement])) == want


@pytest.mark.parametrize(
    ("version", "bounds", "want"),
    [
        ("3.3.1", ">=3.3,<3.4", True),
        ("3.4", ">=3.3,<3.4", False),
        ("3.3", ">=3.3.0", True),
        ("0.18.0", "==0.18.*", True),
        ("0.19.0", "==0.18.*", False),
        ("1.2", "==1.2", True),
        ("1.2.1", "==1.2", False),
        ("2.0", "<2", False),
        ("0.66b2", "", True),
    ],
)
def test_bounds(version: str, bounds: str, want: bool) -> None:
    assert locks.fits(version, bounds) is want
