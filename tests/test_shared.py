"""The helpers that read recorded data."""

import gzip
from pathlib import Path

import pytest

from tests import shared


def test_rows_are_cut_at_newlines_only(tmp_path: Path) -> None:
    text = '{"a": "x\u2028y"}\n\n{"a": "\x0b"}\n'.replace("\x0b", "\\u000b")
    plain, packed = tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    assert [row["a"] for row in shared.rows(plain)] == ["x\u2028y", "\x0b"]
    assert shared.rows(plain) == shared.rows(packed)


def test_a_json_file_is_one_list(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text('[{"a": 1},\n {"a": 2}]')
    assert [row["a"] for row in shared.rows(file)] == [1, 2]


def test_absent_data_skips_and_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(shared.CONFORMANCE, str(tmp_path))
    monkeypatch.setattr(shared, "missing", {})
    with pytest.raises(pytest.skip.Exception, match=r"a/b\.jsonl not found.*POLICYD_CONFORMANCE"):
        shared.conformance("a/b.jsonl")
    assert shared.missing == {"a/b.jsonl": "POLICYD_CONFORMANCE"}
