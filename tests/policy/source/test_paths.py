"""Paths that do not exist: what is there instead."""

from pathlib import Path

import pytest

from policyd.policy.source.tree import instead_of

SHELL = (
    "wildcards are not expanded here, a shell expands them outside of quotes: give the directory "
)
PATHS = [
    ("policies/*.yml", "no file matches; there are: a.yaml, b.yaml"),
    ("policies/*.yaml", f"{SHELL}policies"),
    ("*.yml", "no file matches; there are: pod.yaml, policies"),
    ("*.yaml", f"{SHELL}."),
    ("polices/*.yaml", "no file matches: there is no directory polices"),
    ("*/a.yaml", "no file matches"),
    ("pod.yml", "did you mean pod.yaml?"),
    ("policies/a.yml", "did you mean policies/a.yaml?"),
    ("polices/", "did you mean policies?"),
    ("polices/a.yml", "did you mean policies/a.yaml?"),
    ("./polices/a.yaml", "did you mean ./policies/a.yaml?"),
    ("polices/zzzzzz", ""),
    ("https://example.com/pod.yaml", "download it first: curl -fsSLO https://example.com/pod.yaml"),
    ("https:/example.com/pod.yaml", "download it first: curl -fsSLO https://example.com/pod.yaml"),
    ("nowhere", ""),
    ("no/where.yaml", ""),
    ("a\0b", ""),
]


@pytest.mark.parametrize(("path", "hint"), PATHS)
def test_what_is_there_instead(
    path: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policies").mkdir()
    for name in ("policies/a.yaml", "policies/b.yaml", "policies/.hidden.yml", "pod.yaml"):
        (tmp_path / name).write_text("")
    assert instead_of(path, tmp_path) == hint
    monkeypatch.chdir(tmp_path)
    assert instead_of(path) == hint


def test_of_many_files_some_are_listed(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"{number}.yaml").write_text("")
    hint = "no file matches; there are: 0.yaml, 1.yaml, 2.yaml, 3.yaml, 4.yaml and 2 more"
    assert instead_of("*.yml", tmp_path) == hint
