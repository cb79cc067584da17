"""The default pull policy of an image, from its tag. Names are parsed as Docker's references."""

import string

_LONGEST_NAME, _LONGEST_TAG = 255, 128
_LOWER = frozenset(string.ascii_lowercase + string.digits)
_ALNUM = frozenset(string.ascii_letters + string.digits)
_TAG = _ALNUM | frozenset("_.-")
_HEX = frozenset("0123456789abcdef")
_DIGESTS = {"sha256": 64, "sha384": 96, "sha512": 128}
_ID = 64  # a name of as many hexadecimal digits is an id, not a name


def pull_policy(image: str) -> str:
    """Return Always for the tag ``latest``, which an image without tag and digest has.

    A string that is no image has no tag.
    """
    rest, at, digest = image.partition("@")
    slash = rest.rfind("/")
    name, colon, tag = rest[slash + 1 :].partition(":")
    name = rest[: slash + 1] + name
    valid = _is_name(name, image) and (not at or _is_digest(digest)) and (not colon or _is_tag(tag))
    latest = tag == "latest" or not (colon or at)
    return "Always" if valid and latest else "IfNotPresent"


def _is_name(name: str, image: str) -> bool:
    if len(image) == _ID and _HEX.issuperset(image):
        return False
    first, slash, rest = name.partition("/")
    path = name
    if slash and (set(first) & {".", ":"} or first == "localhost" or first != first.lower()):
        if not _is_host(first):
            return False
        path = rest
    return len(name) <= _LONGEST_NAME and all(map(_is_component, path.split("/")))


def _is_host(host: str) -> bool:
    name, colon, port = host.partition(":")
    if host.startswith("["):
        name, _, port = host[1:].partition("]")
        return _HEX.issuperset(name.lower().replace(":", "")) and (not port or port[1:].isdigit())
    if colon and not (port.isascii() and port.isdigit()):
        return False
    return all(
        part and _ALNUM.issuperset(part.replace("-", "")) and part[0] != "-" and part[-1] != "-"
        for part in name.split(".")
    )


def _is_component(text: str) -> bool:
    """Lower-case words with one dot, one or two underscores or any dashes between them."""
    before = ""  # the separators since the last word; a component starts and ends with a word
    for at, each in enumerate(text):
        if each not in _LOWER:
            before += each
        elif before and (at == len(before) or not _separates(before)):
            return False
        else:
            before = ""
    return bool(text) and not before


def _separates(text: str) -> bool:
    return text in (".", "_", "__") or not text.strip("-")


def _is_tag(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_TAG and _TAG.issuperset(text) and text[0] not in ".-"


def _is_digest(text: str) -> bool:
    algorithm, _, value = text.partition(":")
    return len(value) == _DIGESTS.get(algorithm) and _HEX.issuperset(value)
