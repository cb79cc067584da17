"""Names that the API server makes of generateName, and what is known of them before."""

from hypothesis import given
from hypothesis import strategies as st

from policyd._core.pattern.strings import Wildcard
from policyd.policy.kinds.generated_names import (
    MOST_PREFIX,
    SUFFIX_CHARACTERS,
    SUFFIX_LENGTH,
    is_made_of,
    unfinished,
)

# Two characters decide it: the last literal of a pattern is not both of them.
_SUFFIXES = [character * SUFFIX_LENGTH for character in "bc"]
_LONG = "b" * (MOST_PREFIX - 2)


@given(
    st.text("bc-*?", max_size=8),
    st.sampled_from(("", _LONG)),
    st.text("bc-", min_size=1, max_size=4),
)
def test_a_pattern_matches_what_is_known_if_it_matches_every_name(
    pattern: str, start: str, end: str
) -> None:
    prefix = start + end
    for whole in (pattern, start + pattern, start + end[:2] + pattern):
        test = Wildcard(whole).matches
        every = all(test(prefix[:MOST_PREFIX] + suffix) for suffix in _SUFFIXES)
        assert test(unfinished(prefix)) is every


@given(
    st.text("abc-", min_size=1, max_size=70),
    st.text(sorted(SUFFIX_CHARACTERS), min_size=5, max_size=5),
)
def test_names_are_recognised(prefix: str, suffix: str) -> None:
    name = prefix[:MOST_PREFIX] + suffix
    assert is_made_of(name, prefix)
    assert not is_made_of(name, prefix[1:] if len(prefix) <= MOST_PREFIX else "x" + prefix)
    assert not is_made_of(name[:-1] + "a", prefix)  # vowels are never generated


def test_nothing_is_known_of_a_prefix_that_may_be_cut_inside_a_character() -> None:
    for prefix in ("", "é", "é" * 40, "a" * 57 + "é"):
        known = unfinished(prefix)
        assert [each for each in ("*", "?*", "?????", "a*") if Wildcard(each).matches(known)] == [
            "*"
        ]
