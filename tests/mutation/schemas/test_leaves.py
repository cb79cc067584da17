"""Times and bytes as Go decodes them; the expected values are what Go 1.26 gave."""

import pytest

from policyd._core.schema.go_json import go_json
from policyd.mutation.schemas.go_times import micros_text, seconds_text
from policyd.mutation.schemas.leaves import octets

TIMES: list[tuple[str, str | None]] = [
    ("2024-01-01T5:04:05Z", "2024-01-01T05:04:05Z"),
    ("2024-01-01T00:00:00,999999999999Z", "2024-01-01T00:00:00Z"),
    ("2024-01-01T00:00:00.5+24:60", "2023-12-30T23:00:00Z"),
    ("0001-01-01T00:00:00Z", None),
    ("0001-01-01T01:00:00+01:00", None),
    ("0001-01-01T00:00:00.1Z", "0001-01-01T00:00:00Z"),
    ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z"),
    ("0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"),
    ("9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z"),
]
MICRO_TIMES: list[tuple[str, str | None]] = [
    ("2024-01-01T00:00:00.000001Z", "2024-01-01T00:00:00.000001Z"),
    ("2024-01-01T00:00:00,123456-01:30", "2024-01-01T01:30:00.123456Z"),
    ("2024-01-01T00:00:00.+12345Z", "2024-01-01T00:00:00.012345Z"),
    ("0001-01-01T00:00:00.000000Z", None),
]
NO_TIMES = [
    ("2024-13-01T00:00:00Z", "month out of range"),
    ("2024-02-30T00:00:00Z", "day out of range"),
    ("2024-01-01T24:00:00Z", "hour out of range"),
    ("2024-01-01T00:00:00+25:61", "time zone offset minute out of range"),
    ("2024-01-01T00:00:00+25:00", "time zone offset hour out of range"),
    ("2024-01-01T00:00:00Zx", 'extra text: "x"'),
]
NO_MICRO_TIMES = [
    ("2024-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
    ("2024-01-01T00:00:00.12345Z", 'cannot parse ".12345Z" as ".000000"'),
    ("2024-01-01T00:00:00.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
    ("2024-01-01T00:00:00.-12345Z", "fractional second out of range"),
]
# A text that is no base64, and the byte that Go complains about.
NO_BASE64 = [
    ("aGk", 0), ("aGkxaG", 4), ("a=", 1), ("aG=", 3), ("aG=k", 2), ("aG=\nk", 3), ("aGk=A", 4),
    ("aGk===", 4), ("aGkx====", 4), ("aG==\nQ", 5), ("aé==", 1), ("a\nG", 1), ("-aGk", 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "printed"), TIMES)
def test_times(text: str, printed: str | None) -> None:
    assert seconds_text(text) == printed


@pytest.mark.parametrize(("text", "printed"), MICRO_TIMES)
def test_times_of_microseconds(text: str, printed: str | None) -> None:
    assert micros_text(text) == printed


@pytest.mark.parametrize(("text", "problem"), NO_TIMES)
def test_what_is_no_time(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^parsing time ") as caught:
        seconds_text(text)
    assert str(caught.value) == f'parsing time "{text}": {problem}'


@pytest.mark.parametrize(("text", "problem"), NO_MICRO_TIMES)
def test_what_is_no_time_of_microseconds(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^parsing time ") as caught:
        micros_text(text)
    assert str(caught.value).endswith(f": {problem}")


@pytest.mark.parametrize(("text", "at"), NO_BASE64)
def test_the_byte_at_which_base64_is_corrupt(text: str, at: int) -> None:
    with pytest.raises(ValueError, match=rf"^illegal base64 data at input byte {at}$"):
        octets(text)


def test_line_breaks_in_base64() -> None:
    assert octets("\naG\r\nk=\n") == "aGk="


def test_json_as_go_prints_it() -> None:
    value = {"b": [1, 1.0, 1e21, 1e-7, 1e-6, 123456789012345680000.0, -0.5, None, True], "a": {}}
    assert go_json(value) == (
        '{"a":{},"b":[1,1,1e+21,1e-7,0.000001,123456789012345680000,-0.5,null,true]}'
    )
    assert go_json(["<&>\u2028\x7f\x01\n", []]) == (
        '["\\u003c\\u0026\\u003e\\u2028\x7f\\u0001\\n",[]]'
    )
