"""``jsonpatch.escapeKey("a/b~c")``: a key, escaped for the path of a JSON Patch (RFC 6901). For
mutations only.

Cost: a tenth of the length.
"""

from policyd._core.values.activation cimport Activation, work
from policyd._core.eval.functions cimport first_tenths, unary
from policyd._core.regex.search cimport take_like

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object escape_key(Activation act, object key):
    take_like(act, 2 * len(<str> key), <str> key)
    work(act, len(<str> key))
    return (<str> key).replace("~", "~0").replace("/", "~1")


LIBRARY = Library("jsonpatch", (
    unary(
        "jsonpatch.escapeKey", "jsonpatch.escapeKey(string) -> string",
        "string_jsonpatch_escapeKey_string", escape_key,
        "jsonpatch.escapeKey('k8s.io/my~label') // 'k8s.io~1my~0label'",
    ).costs(first_tenths, estimates.same_length),
), since=32)
