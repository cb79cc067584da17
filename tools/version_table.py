"""The changes between versions of Kubernetes that docs/reference/kubernetes-versions.md lists."""

from collections.abc import Mapping

from policyd.versions import (
    CEL_0_33,
    ESCAPED_IDENTIFIERS,
    LEADING_DOT_IS_GLOBAL,
    OPTIONAL_OR_CHECKS,
    OPTIONALS_KEEP_VALUES,
    TYPE_NAMES_HOLD_DYN,
    TYPED_VALUES,
    Feature,
    feature_since,
)

# In the order of the page; macros are listed with the functions.
FEATURES = (
    ESCAPED_IDENTIFIERS,
    LEADING_DOT_IS_GLOBAL,
    TYPE_NAMES_HOLD_DYN,
    OPTIONALS_KEEP_VALUES,
    OPTIONAL_OR_CHECKS,
    TYPED_VALUES,
    CEL_0_33,
)


# Functions whose result or cost changed with a version: their tables (``_core/lib``) have a row for
# each behaviour. This table describes the changes.
CHANGED_FUNCTIONS: Mapping[str, Feature] = {
    "lists.range": feature_since(
        37,
        "lists-range-limits",
        "lists.range() of a negative size, or of more than 1,000,000, is an error",
        "cel-go 0.29 ext/lists.go: genRange",
    ),
    "startsWith": feature_since(
        37,
        "prefix-costs",
        "startsWith() and endsWith() cost a tenth of the length of the argument, not of the string",
        "cel-go 0.29 interpreter/runtimecost.go: costCall",
    ),
    "endsWith": feature_since(
        37,
        "suffix-costs",
        "see startsWith()",
        "cel-go 0.29 interpreter/runtimecost.go: costCall",
    ),
    "matches": feature_since(
        37,
        "global-matches-costs",
        "matches(string, pattern) costs as much as string.matches(pattern); before, 1 unit",
        "cel-go 0.29 interpreter/runtimecost.go: costCall",
    ),
    "indexOf": feature_since(
        37,
        "empty-index-is-clamped",
        "indexOf('', n), lastIndexOf('', n) stay within the string, and a negative n is an error",
        "cel-go 0.29 ext/strings.go: indexOfOffset",
    ),
    "lastIndexOf": feature_since(
        37,
        "empty-last-index-is-clamped",
        "see indexOf()",
        "cel-go 0.29 ext/strings.go: lastIndexOfOffset",
    ),
    "flatten": feature_since(
        37,
        "flatten-costs",
        "flatten() of a negative depth costs the size of the list; before, nearly the whole limit",
        "cel-go 0.29 ext/lists.go: trackAllocatingListCall",
    ),
}
