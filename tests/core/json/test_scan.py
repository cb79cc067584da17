"""The scanner of JSON beside Python's reader: what is JSON, where members stand, what values take."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd._core.json.scan import JSONScan, repaired
from policyd._core.json.sizes import decoded_bytes
from tests.sampling import examples

WORDS = [
    "1",
    "-0",
    "01",
    "1.",
    ".5",
    "1e5",
    "1E+5",
    "1e",
    "true",
    "false",
    "null",
    "nul",
    "é",
    "[1,2]",
]
STRINGS = [
    '"a"',
    '"é"',
    '"\\u0041"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\x"',
    '"\x01"',
    '"\\u12g4"',
]
PIECES = st.sampled_from([*'{}[],:-."\\ \n\t01e\0', *WORDS, *STRINGS, '{"a":1}', '{"a"', '"\\'])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def refuse(_: str) -> Any:
    raise ValueError


def read(text: str | bytes) -> Any:
    return json.loads(text, parse_constant=refuse)


@settings(max_examples=examples(1000), deadline=None)
@given(st.lists(PIECES, max_size=8).map("".join))
def test_what_is_json_is_what_pythons_reader_takes(text: str) -> None:
    try:
        read(text)
        valid = True
    except ValueError:
        valid = False
    assert (JSONScan(text.encode()).problem() == -1) is valid


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abcd") | st.text(), TREES), st.booleans(), st.data())
def test_members_are_found_where_they_stand(tree: Any, wide: bool, data: Any) -> None:
    text = json.dumps(tree, ensure_ascii=data.draw(st.booleans()), indent=2 if wide else None)
    body = text.encode()
    scan = JSONScan(body)
    assert (scan.problem(), scan.surrogate) == (-1, -1)
    found = scan.members(0, ("a", "b", "c"))
    assert found is not None
    read_out = {name: read(body[start:end]) for name, (start, end) in found.items()}
    assert read_out == {name: value for name, value in tree.items() if name in ("a", "b", "c")}


def test_the_last_of_two_members_counts_and_keys_may_be_escaped() -> None:
    body = rb' {"a" : {"x":"}"} , "\u0061":[1,{}] ,"a\u0062" : -1.5e3,"b":"\\","c":null} '
    found = JSONScan(body).members(0, ("a", "ab", "b", "c"))
    assert found is not None
    shown = {name: body[start:end] for name, (start, end) in found.items()}
    assert shown == {"a": b"[1,{}]", "ab": b"-1.5e3", "b": rb'"\\"', "c": b"null"}
    assert JSONScan(b"[1]").members(0, ("a",)) is None


@pytest.mark.parametrize(
    ("text", "surrogate", "depth"),
    [
        (rb'"\ud83d\ude00"', -1, 0),
        (rb'["\ud83d"]', 2, 1),
        (rb'{"\ud83dx":[1]}', 2, 2),
        (rb'"\ude00\ud83d"', 1, 0),
        (b'["\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"]', -1, 1),
        (b'["a\xff"]', -1, 1),
        (b'["\xed\xa0\x80"]', -1, 1),
        (b'["\xc0\x80"]', -1, 1),
        (b'["\xf4\x90\x80\x80"]', -1, 1),
        (b'["\xe2\x82"]', -1, 1),
        (b"[" * 70_000 + b"]" * 70_000, -1, 70_000),
    ],
)
def test_faults_are_noted(text: bytes, surrogate: int, depth: int) -> None:
    scan = JSONScan(text)
    assert scan.problem() == -1
    assert (scan.surrogate, scan.depth) == (surrogate, depth)


@given(st.lists(st.sampled_from(["\ud800", "\udbff", "\udc00", "\U0001f600", "a", "\\", '"'])))
def test_repaired_text_is_what_go_reads(parts: list[str]) -> None:
    text = "".join(f"{json.dumps(part)[1:-1]}" for part in parts)
    units = json.loads(f'"{text}"')  # neighbours may have made a pair
    want = "".join("\ufffd" if "\ud800" <= unit <= "\udfff" else unit for unit in units)
    assert json.loads(repaired(f'"{text}"'.encode())) == want


SHAPES = ["[],", "{},", '{"a":1},', '{"a":"b"},', "1.5,", '"ab",']
# A process for each shape: what was taken for another one must not count.
MEASURE = """
import os
import sys
import orjson
from policyd._core.json.sizes import decoded_bytes

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

for shape in sys.argv[1:]:
    if not os.fork():
        body = b"[" + shape.encode() * (4 * 2**20 // len(shape)) + b"1]"
        before = resident()
        tree = orjson.loads(body)
        print(shape, resident() - before, decoded_bytes(body, 0), flush=True)
        os._exit(0)
    os.wait()
"""


def test_decoding_takes_no_more_than_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *SHAPES], capture_output=True, text=True, check=True
    )
    measured = [line.split() for line in done.stdout.splitlines()]
    assert [shape for shape, _, _ in measured] == SHAPES
    for shape, taken, said in measured:
        assert int(taken) < 1.3 * int(said), shape


def test_what_stands_in_strings_counts_only_below_the_limit() -> None:
    text = json.dumps({"a": '[{,"' * 1000}).encode()
    assert decoded_bytes(text, 10**9) > 200_000
    assert decoded_bytes(text, 100) < 30_000


@pytest.mark.parametrize("size", [0, 1, 254, 255, 256, 510, 511, 100_000])
@pytest.mark.parametrize(("character", "weight"), [("{", 154), ("[", 68), (",", 44), ('"', 32)])
def test_every_character_is_counted(character: str, weight: int, size: int) -> None:
    assert decoded_bytes(character.encode() * size, 10**9) == weight * size


@settings(deadline=None)
@given(st.lists(TREES, max_size=5), st.booleans())
def test_elements_are_found_where_they_stand(trees: list[Any], wide: bool) -> None:
    body = json.dumps(trees, indent=1 if wide else None).encode()
    places = JSONScan(body).elements(0)
    assert places is not None
    assert [read(body[start:end]) for start, end in places] == trees
    assert JSONScan(b'{"a": []}').elements(0) is None
