"""URLs: ``url("https://example.com:80/path?a=1")``, ``isURL("/path")``; an absolute URI or absolute
path.

``u.getScheme()``, ``u.getHost()`` (with the port), ``u.getHostname()``, ``u.getPort()``,
``u.getEscapedPath()``, ``u.getQuery()`` (a map of lists).

Cost: a tenth of the length of the string for ``url``, 1 unit for everything else.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD, error
from policyd._core.net.url cimport ParsedURL, parse_request_uri, parse_url, split_host_port
from policyd._core.eval.functions cimport first_tenths, unary
from policyd._core.values.types cimport Opaque

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef class URL(Opaque):
    """``kubernetes.URL``"""

    cdef ParsedURL parsed

    cdef str type_name(self):
        return "kubernetes.URL"

    cdef object equals(self, object other):
        if type(other) is not URL:
            return NO_SUCH_OVERLOAD
        return self.parsed.string() == (<URL> other).parsed.string()

    def __str__(self):
        return self.parsed.string()


cdef object to_url(Activation act, object text):
    cdef URL made
    # The first parser is stricter, the second supports fragments.
    found = parse_request_uri(<str> text)
    if type(found) is ParsedURL:
        found = parse_url(<str> text)
    if type(found) is not ParsedURL:
        return error(f"URL parse error during conversion from string: {found}")
    made = URL.__new__(URL)
    made.parsed = <ParsedURL> found
    return made


cdef object is_url(Activation act, object text):
    return type(parse_request_uri(<str> text)) is ParsedURL


cdef object scheme(Activation act, object value):
    return (<URL> value).parsed.scheme


cdef object host(Activation act, object value):
    return (<URL> value).parsed.host


cdef object hostname(Activation act, object value):
    return split_host_port((<URL> value).parsed.host)[0]


cdef object port(Activation act, object value):
    return split_host_port((<URL> value).parsed.host)[1]


cdef object escaped_path(Activation act, object value):
    return (<URL> value).parsed.escaped_path()


cdef object query(Activation act, object value):
    return (<URL> value).parsed.query()


LIBRARY = Library("url", (
    unary(
        "url", "url(string) -> kubernetes.URL", "string_to_url", to_url,
        "url('/a') == url('/a') // true",
    ).costs(first_tenths, estimates.same_length),
    unary("isURL", "isURL(string) -> bool", "is_url_string", is_url, "isURL('a/b') // false"),
    unary(
        "getScheme", "kubernetes.URL.getScheme() -> string", "url_get_scheme", scheme,
        "url('https://example.com/').getScheme() // 'https'",
    ),
    unary(
        "getHost", "kubernetes.URL.getHost() -> string", "url_get_host", host,
        "url('https://[::1]:80/').getHost() // '[::1]:80'",
    ),
    unary(
        "getHostname", "kubernetes.URL.getHostname() -> string", "url_get_hostname", hostname,
        "url('https://[::1]:80/').getHostname() // '::1'",
    ),
    unary(
        "getPort", "kubernetes.URL.getPort() -> string", "url_get_port", port,
        "url('https://example.com/').getPort() // ''",
    ),
    unary(
        "getEscapedPath", "kubernetes.URL.getEscapedPath() -> string", "url_get_escaped_path",
        escaped_path, "url('https://example.com/a b/').getEscapedPath() // '/a%20b/'",
    ),
    unary(
        "getQuery", "kubernetes.URL.getQuery() -> map(string, list(string))", "url_get_query",
        query, "url('/?a=1&a=2').getQuery() // {'a': ['1', '2']}",
    ),
), kinds={"kubernetes.URL": URL})
