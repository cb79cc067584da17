"""Random regular expressions in Go's syntax, and strings that they may match."""

from hypothesis import strategies as st

WORDS = r"""
    a b ab _ - é ſ k S . [ab] [^a] [a-c] [k-s] [ſ] []a] [^]a] [^\x00-\x{10FFFF}] [\d-] [^\n]
    [[:alpha:]_] [[:^word:]a] \d \w \W \s \S \pL \P{Lu} \. \+ \n \x00 \x7f \x{41}
    \Qa.b\E (?:) () a{0} (?i:k) (?i:é|s) (?s:.) (?-s:.) (?i) (?m) (?s) (?U)
    ^ $ \A \z \b \B (?m:^) (?m:$) (?-m:$)
"""
COUNTS = "* + ? *? +? ?? {0} {1} {2} {0,2} {1,3} {2,} {0,} {3}?"
GROUPS = ("(", "(?:", "(?i:", "(?m:", "(?s:", "(?-i:", "(?P<x>")
TEXTS = st.text("ab_- kKsS1.A\n\x00\x7f", max_size=9)
UNICODE = st.text("ab_ kS1\nékſK\u0130\u2028ж\U0001f600\U0010ffff", max_size=9)


def extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds("{}{})".format, st.sampled_from(GROUPS), inner)
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("{}|{}".format, inner, inner),
        group,
        st.builds("{}{}".format, group, st.sampled_from(COUNTS.split())),
    )


PATTERNS = st.recursive(st.sampled_from(["", "\n", *WORDS.split()]), extended, max_leaves=12)
