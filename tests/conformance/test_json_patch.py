"""The json-patch-tests of the JSON Patch authors: ``apply`` follows RFC 6902."""

import copy

import pytest

from policyd._core.json.equality import equal
from policyd._core.patch.apply import apply
from policyd.errors import PatchError
from tests.shared import conformance

# What cannot be asked of an ``apply`` that is given decoded JSON.
DECODED = "a repeated member is gone once JSON is decoded"
NOT_FOR_DECODED_JSON = {
    "duplicate ops": DECODED,
    "A.13 Invalid JSON Patch Document": DECODED,
}


@pytest.mark.parametrize("name", ["tests", "spec_tests"])
def test_json_patch(name: str) -> None:
    rows = [row for row in conformance(f"json-patch/{name}.json") if "patch" in row]
    kept = [row for row in rows if row.get("comment") not in NOT_FOR_DECODED_JSON]
    for row in kept:
        before = copy.deepcopy(row)
        if "error" in row:
            with pytest.raises(PatchError):
                apply(row["patch"], row["doc"])
        else:
            assert equal(apply(row["patch"], row["doc"]), row.get("expected", row["doc"])), row
        assert equal(row, before)
    print(f"json-patch/{name}: {len(kept)} passed of {len(rows)}")
