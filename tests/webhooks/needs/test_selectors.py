"""Selectors as sets of values: what they select, and what several select together."""

from hypothesis import given
from hypothesis import strategies as st

from policyd._core.match.selectors import Selector
from policyd.json_types import JSONObject
from policyd.webhooks.needs.selectors import both, hull, selection, selector, within

KEYS = st.sampled_from(["a", "b"])
VALUES = st.sampled_from(["1", "2", "3"])
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=2, unique=True),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        KEYS,
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)
SELECTORS: st.SearchStrategy[JSONObject] = st.fixed_dictionaries(
    {}, optional={"matchLabels": LABELS, "matchExpressions": st.lists(REQUIREMENTS, max_size=3)}
)


def selects(given: JSONObject, labels: dict[str, str]) -> bool:
    return Selector(given).matches(labels)


@given(SELECTORS, SELECTORS, LABELS)
def test_both_select_what_each_selects(
    left: JSONObject, right: JSONObject, labels: dict[str, str]
) -> None:
    joined = both(selection(left), selection(right))
    expected = selects(left, labels) and selects(right, labels)
    absent = [{"key": key, "operator": "DoesNotExist"} for key in ("a", "b") if key not in labels]
    exactly: JSONObject = {"matchLabels": labels, "matchExpressions": absent}
    assert within(selection(exactly), joined) or not expected
    if all(not (each.values and each.absent and not each.others) for each in joined.values()):
        assert selects(selector(joined), labels) == expected


@given(st.lists(SELECTORS, min_size=1, max_size=3), LABELS)
def test_a_hull_selects_what_one_of_them_selects(
    given: list[JSONObject], labels: dict[str, str]
) -> None:
    joined = selector(hull([selection(each) for each in given]))
    if any(selects(each, labels) for each in given):
        assert selects(joined, labels)


@given(SELECTORS, LABELS)
def test_the_hull_of_one_is_the_same(given: JSONObject, labels: dict[str, str]) -> None:
    assert selects(selector(hull([selection(given)])), labels) == selects(given, labels)


@given(SELECTORS, SELECTORS, LABELS)
def test_within_says_that_nothing_is_left_out(
    inner: JSONObject, outer: JSONObject, labels: dict[str, str]
) -> None:
    if within(selection(inner), selection(outer)) and selects(inner, labels):
        assert selects(outer, labels)
