"""Random CEL about ``object``, ``oldObject`` and ``params``, with objects for it."""

from hypothesis import strategies as st

from policyd.json_types import JSONObject

_FIELDS = ("metadata", "spec", "kind", "apiVersion", "labels", "namespace", "name", "a", "status")
_ACCESSES = (".{}", ".?{}", "['{}']", "[?'{}']")

accesses = st.builds(
    lambda form, field: form.format(field), st.sampled_from(_ACCESSES), st.sampled_from(_FIELDS)
)
_first = st.sampled_from(
    ("metadata", "metadata", "spec", "kind", "apiVersion", "status", "a")
).flatmap(lambda field: st.sampled_from(_ACCESSES).map(lambda form: form.format(field)))
ROOTS = (
    "object",
    "object",
    "oldObject",
    "(object)",
    "params",
    "(object != null ? object : oldObject)",
    "(oldObject == null ? params : oldObject)",
    "(true ? object : params)",
)


def conditions(*roots: str) -> st.SearchStrategy[str]:
    """Boolean expressions over values of these roots; some do not compile."""
    root = st.sampled_from(roots)
    chains = st.builds(
        lambda root, first, more: "".join((root, first, *more)),
        root,
        _first,
        st.lists(accesses, max_size=3),
    )
    values = st.one_of(
        chains,
        root,
        chains.map(lambda chain: f"optional.of({chain}).optMap(x, x == {chain})"),
        chains.map(lambda chain: f"[{chain}].map(object, object)"),
        chains.map(lambda chain: f"[1].map(variables, {chain})"),
    )
    present = st.builds(
        "has({}.{})".format,
        st.one_of(root, chains),
        st.sampled_from(_FIELDS),
    )
    return st.recursive(
        _atoms(values, present),
        lambda inner: st.one_of(
            st.builds("({} && {})".format, inner, inner),
            st.builds("({} || {})".format, inner, inner),
            st.builds("!({})".format, inner),
            st.builds("({} ? {} : {}) // so\n".format, inner, inner, inner),
        ),
        max_leaves=4,
    )


def _atoms(
    value: st.SearchStrategy[str], present: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} == {}".format, value, value),
        st.builds("{} != {}".format, value, value),
        st.builds("{} == null".format, value),
        st.builds("null != {}".format, value),
        st.builds("'a' in {}".format, value),
        st.builds("{}.exists(k, k == 'name')".format, value),
        st.builds("{} == 'v'".format, value),
        st.builds("dyn({}).orValue('x') == 'x'".format, value),
        st.builds("type({0}) == type({0})".format, value),
        present,
    )


_labels = st.dictionaries(st.sampled_from(("a", "name", "env")), st.sampled_from(("v", "a", "")))
_metadata = st.fixed_dictionaries(
    {}, optional={"labels": _labels, "name": st.just("v"), "namespace": st.just("other")}
)
_spec: st.SearchStrategy[JSONObject] = st.fixed_dictionaries(
    {}, optional={"a": st.sampled_from((1, "v", None, {"a": "v"}, [])), "name": st.just("a")}
)
templates: st.SearchStrategy[JSONObject] = st.fixed_dictionaries(
    {}, optional={"metadata": _metadata, "spec": _spec}
)
params: st.SearchStrategy[JSONObject] = st.dictionaries(
    st.sampled_from(("metadata", "spec", "a", "kind")),
    st.recursive(
        st.sampled_from((1, 1.5, "v", True, None, 'it\'s "it"\n')),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        ),
        max_leaves=5,
    ),
    max_size=3,
)
