"""Merging by schema against structured-merge-diff itself, and the laws that need no oracle.

``data/merge.jsonl.gz`` holds what the Go library (v6.3.3) answered to made-up pairs of a live object
and a patch: keyed lists with a defaulted key, sets, atomic lists, maps and free-form values.
"""

import copy
import json
from pathlib import Path
from typing import Any

from policyd._core.schema.list_items import MergeError
from policyd._core.schema.merge import merge
from policyd._core.schema.problems import atomics, flawless, problems
from policyd._core.schema.types import Field, SchemaType
from policyd.mutation.schemas.type_builder import Builder
from tests.shared import rows

HEAD, *ROWS = rows(Path(__file__).parent / "data" / "merge.jsonl.gz")


def schema() -> SchemaType:
    builder = Builder(lambda name: {})
    root = builder.field(HEAD["schema"], preserve=False).type
    root.fields["d"] = Field(builder.anything)
    return root


def answer(live: Any, patch: Any, kind: SchemaType) -> dict[str, Any]:
    found = problems(patch, kind)
    if found:
        path, message = found[0]
        return {"error": f"{path}: {message}"}
    try:
        return {"ok": merge(live, patch, kind)}
    except MergeError as error:
        return {"error": str(error)}


def test_answers_of_structured_merge_diff() -> None:
    kind = schema()
    failed = []
    for row in ROWS:
        live, patch = copy.deepcopy(row["live"]), copy.deepcopy(row["patch"])
        got = answer(live, patch, kind)
        want = {key: row[key] for key in ("ok", "error") if key in row}
        if json.dumps(got, sort_keys=True) != json.dumps(want, sort_keys=True):
            failed.append((row, got))
        assert (live, patch) == (row["live"], row["patch"])
    print(f"{len(ROWS) - len(failed)} passed of {len(ROWS)}")
    assert failed == []


def test_merging_twice_is_merging_once() -> None:
    kind = schema()
    for row in ROWS:
        if row.get("ok"):
            assert merge(row["ok"], row["patch"], kind) == row["ok"], row


def test_a_flawless_patch_is_one_of_which_nothing_is_told() -> None:
    kind = schema()
    counts = {True: 0, False: 0}
    for row in ROWS:
        for tree in (row["patch"], row["live"]):
            sure = flawless(tree, kind)
            assert not sure or (problems(tree, kind), atomics(tree, kind)) == (None, None), tree
            counts[sure] += 1
    assert min(counts.values()) > 100, counts


def test_atomics_are_named_by_path() -> None:
    patch = {"a": ["x"], "l": [{"nn": "a"}], "d": [1]}
    assert atomics(patch, schema()) == [".a", ".d"]
    assert atomics({"l": [], "s": ["x"], "m": {}}, schema()) is None
