"""The supported Kubernetes versions, and their differences.

The CEL environment, the parser and the planner get a version when policies load; requests never
check one. The tables of the function libraries (``_core/lib``) hold the versions of functions;
every other change is a ``Feature`` in this file.
"""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:[.+-].*)?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class KubernetesVersion:
    """A minor version, such as 1.37."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, string: str) -> "KubernetesVersion":
        """The version of ``1.37``, ``v1.37.1`` or ``1.37+``; ValueError for any other string."""
        match = _VERSION.fullmatch(string.strip())
        if match is None:
            raise ValueError(f"a Kubernetes version, {SPAN}")
        return cls(int(match[1]), int(match[2]))

    def has(self, feature: "Feature") -> bool:
        """Whether this version has the feature."""
        since = feature.since  # comparing versions would create tuples, often for each expression
        return since.minor <= self.minor if since.major == self.major else since < self


OLDEST = KubernetesVersion(1, 30)
# The newest release, which is the default.
NEWEST = KubernetesVersion(1, 37)
# The newest known version: a pre-release, or the newest release.
LATEST = KubernetesVersion(1, 38)
SUPPORTED = tuple(KubernetesVersion(1, minor) for minor in range(OLDEST.minor, LATEST.minor + 1))
# Versions whose responses were recorded. Older ones differ from 1.36 only in their functions.
RECORDED = (KubernetesVersion(1, 36), NEWEST, LATEST)
SPAN = f"{OLDEST} to {LATEST}"


def supported(string: str) -> KubernetesVersion:
    """Parse a version; ValueError with the supported ones if it is not supported."""
    version = KubernetesVersion.parse(string)
    if version not in SUPPORTED:
        raise ValueError(f"a Kubernetes version, {SPAN}")
    return version


def nearest(version: KubernetesVersion) -> tuple[KubernetesVersion, str]:
    """The supported version nearest to a cluster's, and a warning if they differ."""
    if version > LATEST:
        return LATEST, (
            f"the cluster runs Kubernetes {version}, which is newer than supported ({SPAN}); "
            f"policies are evaluated as in {LATEST}"
        )
    if version < OLDEST:
        return OLDEST, (
            f"the cluster runs Kubernetes {version}, which is older than supported ({SPAN}); "
            f"policies are evaluated as in {OLDEST}"
        )
    return version, ""


@dataclass(frozen=True, slots=True)
class Feature:
    """A change of behaviour; ``source`` is its place in Kubernetes or cel-go."""

    name: str
    since: KubernetesVersion
    about: str
    source: str


def feature_since(minor: int, name: str, about: str, source: str) -> Feature:
    """Return a change of Kubernetes 1.``minor``."""
    return Feature(name, KubernetesVersion(1, minor), about, source)


ESCAPED_IDENTIFIERS = feature_since(
    37,
    "escaped-identifiers",
    "fields named in backquotes: object.spec.`dash-name`",
    "cel-go 0.29 parser/parser.go: NewParser enables the escape syntax",
)

OPTIONAL_OR_CHECKS = feature_since(
    37,
    "optional-or-checks",
    "or() and orValue() of a value that is not optional are an error; before, they returned it",
    "cel-go 0.29 cel/library.go: evalOptionalOr, evalOptionalOrValue",
)
OPTIONALS_KEEP_VALUES = feature_since(
    37,
    "optionals-keep-values",
    "quantities, IPs, CIDRs, URLs, semvers and types come out of optMap and ?: as they went in; "
    "before, `unsupported conversion to ref.Val`",
    "cel-go 0.29 interpreter/attributes.go: applyQualifiers",
)
TYPE_NAMES_HOLD_DYN = feature_since(
    37,
    "type-names-hold-dyn",
    "list, map and optional_type, as names, are the types of values of any type in error messages: "
    "type(list(dyn)); before, type(list(A))",
    "cel-go 0.29 checker/env.go: resolveSimpleIdent",
)
LEADING_DOT_IS_GLOBAL = feature_since(
    37,
    "leading-dot-is-global",
    "inside a macro whose variable is x, .x means the variable x of the policy, not the macro's",
    "cel-go 0.29 checker/env.go: resolveSimpleIdent",
)
TYPED_VALUES = feature_since(
    37,
    "typed-values",
    "objects and params of built-in kinds, request and namespaceObject are Go's structs, maps and "
    "lists: a key that is no string and an index that is no int are errors",
    "apiserver pkg/cel/common/valuesschemalesstyped.go: SchemalessTypedToVal",
)
CEL_0_33 = feature_since(
    38,
    "cel-0.33",
    "a call, list, map or object costs nothing if a part of it is an error, except for !, == and "
    "!=; nothing is less or greater than NaN; macros read an empty string as an empty list; "
    "errors suggest declared names for undeclared ones",
    "cel-go 0.33 interpreter/interpretable.go: evalBinary, evalList, evalFold, "
    "common/env/catalog.go",
)
TWO_VARIABLE_MACROS = feature_since(
    32,
    "two-variable-macros",
    "all, exists, existsOne with two variables, transformList, transformMap, transformMapEntry",
    "apiserver pkg/cel/environment/base.go: ext.TwoVarComprehensions",
)
SORT_BY = feature_since(
    34,
    "sort-by",
    "the macro sortBy",
    "apiserver pkg/cel/environment/base.go: ext.Lists version 3",
)
