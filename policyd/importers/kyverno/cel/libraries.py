"""Functions of Kyverno's CEL beyond Kubernetes', by name, and why policies cannot have them.

See https://kyverno.io/docs/policy-types/cel-libraries/. Calls that the CEL of Kubernetes can
express are rewritten before (``rewriting``).
"""

from collections.abc import Mapping

from policyd.cel.syntax.ast import Call, Expr
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.export.expressions.occurrences import Untranslatable, occurrences
from policyd.importers.model import Refused, refusing
from policyd.versions import NEWEST

_OTHER_OBJECTS = "does more than get and list objects"
_REGISTRY = "reads an image from its registry; policies call no other service"
_SIGNATURES = "verifies the signatures of images"
_NOT_IN_CEL = "is no function of the CEL of Kubernetes"

# The variables of Kyverno's libraries: what their functions do.
_LIBRARIES: Mapping[str, str] = {
    **dict.fromkeys(("resource", "globalContext"), _OTHER_OBJECTS),
    **dict.fromkeys(("image", "imageData"), _REGISTRY),
    "http": "calls another service",
    "attestations": _SIGNATURES,
    "generator": "creates other objects",
    "time": "depends on the time; the decisions of policies do not",
    **dict.fromkeys(["json", "yaml", "x509", "math", "jmespath", "user", "hash"], _NOT_IN_CEL),
}
_OTHERS = """
    image isImage parseImageReference ParseImageRef parseServiceAccount listObjToMap md5 sha1 sha256
    round
"""
_FUNCTIONS: Mapping[str, str] = {
    "getImageData": _REGISTRY,
    "verifyImageSignatures": _SIGNATURES,
    "verifyAttestationSignatures": _SIGNATURES,
    "extractPayload": _SIGNATURES,
    "random": "depends on chance; the decisions of policies do not",
    **dict.fromkeys(_OTHERS.split(), _NOT_IN_CEL),
}
# Variables that only Kyverno has; the ones that can be rewritten are gone by now.
_VARIABLES: Mapping[str, str] = {
    "exceptions": "holds what PolicyExceptions allow",
    "images": "holds the images of objects by the kind of their container",
    "globalReference": _OTHER_OBJECTS,
}


def parsed(text: str, path: str) -> Expr:
    """Return the tree of an expression; raises Refused if it is none."""
    with refusing(path):
        return parse(text, NEWEST)


def require_known(text: str, path: str) -> None:
    """Raise Refused, with its name, for what only the CEL of Kyverno has."""
    root = parsed(text, path)
    with refusing(path, Untranslatable):
        uses = occurrences(text, frozenset((*_LIBRARIES, *_VARIABLES)))
    for use in uses:
        if use.name in _VARIABLES:
            raise Refused(path, f"the variable {use.name} of Kyverno {_VARIABLES[use.name]}")
        method = _method(root, use.start)
        raise Refused(path, f"{use.name}{method} of Kyverno {_LIBRARIES[use.name]}")
    for call in nodes(root):
        if isinstance(call, Call) and call.target is None and call.function in _FUNCTIONS:
            name = call.function
            raise Refused(path, f"{name}() of Kyverno {_FUNCTIONS[name]}")


def _method(root: Expr, start: int) -> str:
    """Return ``.Get()`` for the call of that name on the variable at ``start``."""
    for call in nodes(root):
        if isinstance(call, Call) and call.target is not None and call.target.pos == start:
            return f".{call.function}()"
    return ""
