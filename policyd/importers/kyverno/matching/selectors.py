"""The grammar of Kyverno's ``kinds``: ``group/version/kind/subresource``, parts of which may be
left out or have wildcards (kyverno pkg/utils/kube/kind.go, ParseKindSelector). Knows no kind.
"""

import re
from typing import NamedTuple

# `*` is one, so that the first of two or three parts is a version, never a group.
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?|\*")


class KindSelector(NamedTuple):
    """What a string of ``kinds`` selects; parts may have wildcards. Group and version are ``*`` if
    not given, the subresource is empty.
    """

    group: str
    version: str
    kind: str
    subresource: str


def selected(text: str) -> KindSelector:
    """Read a selector. Raises ValueError for what names no kind.

    >>> selected("apps/v1/Deployment")
    KindSelector(group='apps', version='v1', kind='Deployment', subresource='')
    >>> selected("Pod.status")
    KindSelector(group='*', version='*', kind='Pod', subresource='status')
    >>> selected("*/scale")
    KindSelector(group='*', version='*', kind='*', subresource='scale')
    """
    *path, last = text.split("/")
    found = _parts(*path, *last.split("."))
    if found is None or not found.kind:
        raise ValueError(f"{text!r} does not name a kind: expected GROUP/VERSION/KIND/SUBRESOURCE")
    return found


def _parts(*parts: str) -> KindSelector | None:
    match parts:
        case (kind,):
            return KindSelector("*", "*", kind, "")
        case ("*", "*"):
            return KindSelector("*", "*", "*", "*")
        case ("*", subresource) if subresource == subresource.lower():
            return KindSelector("*", "*", "*", subresource)
        case (version, kind) if _VERSION.fullmatch(version):
            return KindSelector("*", version, kind, "")
        case (kind, subresource):
            return KindSelector("*", "*", kind, subresource)
        case (version, kind, subresource) if _VERSION.fullmatch(version):
            return KindSelector("*", version, kind, subresource)
        case (group, version, kind):
            return KindSelector(group, version, kind, "")
        case (group, version, kind, subresource):
            return KindSelector(group, version, kind, subresource)
    return None
