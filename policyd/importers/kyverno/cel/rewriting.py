"""Rewrite expressions of Kyverno so that the CEL of Kubernetes says the same.

Other calls stay, and ``libraries`` refuses it by name.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from policyd.cel.syntax.ast import Call, Expr, Ident, Select
from policyd.cel.syntax.recursion import nodes
from policyd.errors import CelSyntaxError
from policyd.export.expressions.brackets import closing, end_of, tokens_of
from policyd.export.expressions.occurrences import (
    Occurrence,
    Untranslatable,
    replaced,
    spliced,
)
from policyd.importers.fields import enclosed, tidy
from policyd.importers.kyverno.cel.calls import SourceCall, calls_of
from policyd.importers.kyverno.cel.libraries import parsed, require_known
from policyd.importers.kyverno.cel.reads import (
    CACHED,
    GETS,
    LISTS,
    OWN_NAMESPACE,
    literal_of,
    operand,
    read_by,
)
from policyd.importers.model import Refused, refusing
from policyd.importers.reads import PolicyReads, Unreadable
from policyd.json_types import JSON, JSONObject, strings_in
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural
from policyd.policy.source.yaml_edit.edits import TextEdit

_SERVICE_ACCOUNT = frozenset(("parseServiceAccount", "user.parseServiceAccount"))
_IMAGE = frozenset(("image", "parseImageReference", "ParseImageRef"))
_READS = GETS | LISTS | CACHED
_FUNCTIONS = _SERVICE_ACCOUNT | _IMAGE | _READS
_NAMES = frozenset(("images", "exceptions"))
# Kyverno pkg/cel/compiler/images.go: the images of a Pod by the kind of their container.
_IMAGES: Mapping[str, str] = {
    "containers": "object.spec.?containers.orValue([]).map(c, c.image)",
    "initContainers": "object.spec.?initContainers.orValue([]).map(c, c.image)",
    "ephemeralContainers": "object.spec.?ephemeralContainers.orValue([]).map(c, c.image)",
    "imageVolumes": (
        "object.spec.?volumes.orValue([]).filter(v, has(v.image)).map(v, v.image.reference)"
    ),
}
# github.com/google/go-containerregistry pkg/name: {} is the image. A first part with a dot or a
# colon, or localhost, is the registry.
_IMAGE_FIELDS: Mapping[str, str] = {
    "registry": (
        "({0}.matches('^([^/]*[.:][^/]*|localhost)/') && !{0}.startsWith('docker.io/')"
        " ? {0}.split('/')[0] : 'index.docker.io')"
    ),
    "containsDigest": "{0}.contains('@')",
    "digest": "({0}.contains('@') ? {0}.split('@')[1] : '')",
    "tag": (
        "({0}.contains('@') ? '' : {0}.matches(':[^/]+$')"
        " ? {0}.substring({0}.lastIndexOf(':') + 1) : 'latest')"
    ),
    "identifier": (
        "({0}.contains('@') ? {0}.split('@')[1] : {0}.matches(':[^/]+$')"
        " ? {0}.substring({0}.lastIndexOf(':') + 1) : 'latest')"
    ),
}
# A comparison with a registry; a name without a dot, a colon or localhost is none.
_REGISTRY = re.compile(r"""\s*(==|!=)\s*(["'])([\w-]*[.:][\w.:-]*|localhost)\2""")
# system:serviceaccount:NAMESPACE:NAME; anything else has neither.
_ACCOUNT_PARTS: Mapping[str, int] = {"Namespace": 2, "Name": 3}


@dataclass(frozen=True, slots=True)
class Rewriting:
    """How the expressions of one policy are rewritten.

    ``pods``: the objects are Pods. ``allowed`` is CEL by the fields of the variable ``exceptions``.
    ``variables`` are the expressions of the variables, rewritten already, for expressions that
    cannot read variables. ``reads`` are the Policy's.
    """

    pods: bool = False
    allowed: Mapping[str, str] = field(default_factory=dict)
    param: JSONObject = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    reads: PolicyReads = field(default_factory=PolicyReads)

    def rewritten(self, text: str, path: str) -> str:
        """Return an expression for policyd; raises Refused for what it cannot say."""
        text = tidy(text)
        parsed(text, path)
        try:
            text = self._calls(text)
            text = replaced(text, _NAMES, self._named)
            text = without_idle_defaults(text)
        except (Untranslatable, Unreadable, CelSyntaxError) as error:
            raise Refused(path, str(error)) from None
        require_known(text, path)
        return text

    def field(self, holder: JSONObject, name: str, path: str) -> str:
        """Return the expression in a field of ``holder``, which is at ``path``, for policyd."""
        return self.rewritten(str(holder.get(name, "")), f"{path}.{name}")

    def without_variables(self, text: str, path: str) -> str:
        """Return an expression with the expressions of variables in their place: matchConditions
        are evaluated before there are variables.
        """
        text = self.rewritten(text, path)
        with refusing(path, Untranslatable):
            return replaced(text, frozenset(("variables",)), lambda use: self._inlined(use, path))

    def with_variable(self, name: str, expression: str) -> "Rewriting":
        """Return the rewriting of expressions after this variable."""
        return replace(self, variables={**self.variables, name: expression})

    def _inlined(self, use: Occurrence, path: str) -> Iterator[TextEdit]:
        access = use.accesses[0] if use.accesses else None
        if access is None or access.span is None or access.key not in self.variables:
            raise Refused(path, "matchConditions can read variables by variables.NAME only")
        held = self.variables[access.key or ""]
        nested = Rewriting(variables=self.variables).without_variables(held, path)
        yield TextEdit(use.start, access.span[1], enclosed(nested))

    def _calls(self, text: str) -> str:
        """Replace calls one by one: one may be the argument of another."""
        while True:
            for call in calls_of(text, _FUNCTIONS):
                rest = text[call.closing : call.end]
                said, end = _compared(text, call) or (self._said(call, rest), call.end)
                if said is not None:
                    text = text[: call.start] + said + text[end:]
                    break
            else:
                return text

    def _said(self, call: SourceCall, rest: str) -> str | None:
        if call.name in _READS:
            if self.param and param_of(call) == self.param:
                return f"params{rest}"
            return self._read(call, rest)
        if len(call.arguments) != 1:
            return None
        argument = operand(call.arguments[0])
        if call.name in _IMAGE:
            form = _IMAGE_FIELDS.get(call.field)
            return None if form is None else form.format(argument)
        part = _ACCOUNT_PARTS.get(call.field)
        if part is None:
            return None
        test = f"{argument}.startsWith('system:serviceaccount:')"
        return f"({test} ? {argument}.split(':')[{part}] : '')"

    def _read(self, call: SourceCall, rest: str) -> str:
        try:
            said = read_by(call, self.reads, self.variables)
        except Unreadable as error:
            raise Unreadable(
                f"{call.name}() of Kyverno has no read that replaces it: {error}"
            ) from None
        if call.name not in LISTS:
            return f"{said}{rest}"
        return said if rest == ".items" else f"{{'items': {said}}}{rest}"

    def _named(self, use: Occurrence) -> Iterator[TextEdit]:
        access = use.accesses[0] if use.accesses else None
        if access is None or access.span is None or access.key is None:
            return
        meanings = self.allowed if use.name == "exceptions" else _IMAGES if self.pods else {}
        if access.key in meanings:
            yield TextEdit(use.start, access.span[1], meanings[access.key])


def _compared(text: str, call: SourceCall) -> tuple[str, int] | None:
    """Return what a call that is compared with the name of a registry becomes, and the end of the
    comparison; None for others.
    """
    found = _REGISTRY.match(text, call.end)
    joined = text[: call.start].rstrip().endswith("+")
    if call.name not in _IMAGE or call.field != "registry" or found is None or joined:
        return None
    sign, quote, registry = found.groups()
    if len(call.arguments) != 1 or registry.endswith("docker.io"):
        return None
    test = f"{operand(call.arguments[0])}.startsWith({quote}{registry}/{quote})"
    return f"!{test}" if sign == "!=" else test, found.end()


def without_idle_defaults(text: str) -> str:
    """Return an expression without ``.orValue(DEFAULT)`` after what is never an optional.

    Up to Kubernetes 1.36, and in Kyverno, it has no effect there; later it is an error.

    >>> without_idle_defaults("object.spec.volumes.orValue([]).size() == 0")
    'object.spec.volumes.size() == 0'
    """
    idle = {
        node.pos
        for node in nodes(parsed(text, ""))
        if isinstance(node, Call)
        and node.function == "orValue"
        and node.target is not None
        and _is_plain(node.target)
    }
    tokens = tokens_of(text)
    defaults = [
        TextEdit(tokens[index - 2].pos, end_of(tokens[end]), "")
        for index, token in enumerate(tokens)  # a call is where its parenthesis opens
        if token.pos in idle and (end := closing(tokens, index)) is not None
    ]
    return spliced(text, defaults)


def _is_plain(node: Expr) -> bool:
    """Whether a value is read by plain selections of what a request or an item of a list holds."""
    while isinstance(node, Select):
        node = node.operand
    return isinstance(node, Ident) and node.name not in ("variables", "optional")


def param_of(call: SourceCall) -> JSONObject | None:
    """Return ``paramKind`` and ``paramRef`` for a call of resource.Get with literals; None for
        others, and for kinds that are not built in.

    >>> from policyd.importers.kyverno.cel.calls import calls_of
    >>> [call] = calls_of("resource.Get('v1', 'configmaps', 'a', 'b')", frozenset(["resource.Get"]))
    >>> param_of(call)["paramRef"]["namespace"]
    'a'
    """
    given = [literal_of(argument) for argument in call.arguments]
    if call.name not in GETS or len(given) != 4 or None in given[:2] or given[3] is None:
        return None
    api_version, resource, namespace, name = given
    own = call.arguments[2] in OWN_NAMESPACE
    if namespace is None and not own:
        return None
    for (version, kind), namespaced in BUILTIN_KINDS.items():
        if version == api_version and plural(kind) == resource:
            ref: JSONObject = {"name": name}
            if namespaced and namespace:
                ref["namespace"] = namespace
            return {
                "paramKind": {"apiVersion": api_version, "kind": kind},
                "paramRef": {**ref, "parameterNotFoundAction": "Deny"},
            }
    return None


def params_in(value: JSON) -> list[JSONObject]:
    """Return ``paramKind`` and ``paramRef`` of each object that expressions in a value get.

    Other strings call no function, so all strings are searched.
    """
    found: list[JSONObject] = []
    for text in strings_in(value):
        for call in calls_of(text, GETS):
            param = param_of(call)
            if param is not None and param not in found:
                found.append(param)
    return found
