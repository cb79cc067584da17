"""The names that expressions may call, pinned: a function that comes or goes shows up here.

Kubernetes pins its own in ``library_compatibility_test.go``: a policy written for one version must
still compile in the next.
"""

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.versions import SUPPORTED

KNOWN = {
    "authz": """
        allowed check error errored fieldSelector group labelSelector name namespace path reason
        resource serviceAccount subresource
    """,
    "cidr": """
        cidr containsCIDR containsIP ip isCIDR isMask masked prefixLength string
    """,
    "conversions": """
        bool bytes double dyn int string type uint
    """,
    "format": """
        format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix
        format.dns1123Label format.dns1123LabelPrefix format.dns1123Subdomain
        format.dns1123SubdomainPrefix format.labelValue format.named format.qualifiedName
        format.uri format.uuid validate
    """,
    "ip": """
        family ip ip.isCanonical isGlobalUnicast isIP isLinkLocalMulticast isLinkLocalUnicast
        isLoopback isUnspecified string
    """,
    "jsonpatch": """
        jsonpatch.escapeKey
    """,
    "list_extensions": """
        @sortByAssociatedKeys distinct flatten lists.range reverse slice sort
    """,
    "lists": """
        includes indexOf isSorted lastIndexOf max min sum
    """,
    "operators": """
        !_ -_ @in @not_strictly_false _!=_ _%_ _&&_ _*_ _+_ _-_ _/_ _<=_ _<_ _==_ _>=_ _>_ _?._ _?_:_
        _[?_] _[_] _||_ cel.@mapInsert size
    """,
    "optionals": """
        first hasValue last optional.none optional.of optional.ofNonZeroValue optional.unwrap or
        orValue unwrapOpt value
    """,
    "quantity": """
        add asApproximateFloat asInteger compareTo isGreaterThan isInteger isLessThan isQuantity
        quantity sign sub
    """,
    "regex": """
        find findAll matches
    """,
    "semver": """
        compareTo isGreaterThan isLessThan isSemver major minor patch semver
    """,
    "sets": """
        sets.contains sets.equivalent sets.intersects
    """,
    "string_format": """
        format
    """,
    "strings": """
        charAt indexOf join lastIndexOf lowerAscii replace split strings.quote substring trim
        upperAscii
    """,
    "string_tests": """
        contains endsWith startsWith
    """,
    "time_arithmetic": """
        _+_ _-_
    """,
    "timestamps": """
        duration getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours
        getMilliseconds getMinutes getMonth getSeconds int string timestamp
    """,
    "url": """
        getEscapedPath getHost getHostname getPort getQuery getScheme isURL url
    """,
}


def test_libraries_have_the_functions_that_are_pinned() -> None:
    found = {
        library.name: sorted({row.name for row in library.overloads}) for library in KNOWN_LIBRARIES
    }
    assert found == {name: functions.split() for name, functions in KNOWN.items()}


def test_overload_ids_are_unique() -> None:
    for version in SUPPORTED:
        rows = (row for library in KNOWN_LIBRARIES for row in library.overloads)
        ids = [row.id for row in rows if row.known_to(version)]
        assert sorted(ids) == sorted(set(ids))
