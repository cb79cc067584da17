"""Verifies the token of an API server: signature, times, issuer, audience, claims of KEP-6060.

Kubernetes issues such a token for a ServiceAccount, bound to a webhook configuration
(pkg/serviceaccount/claims.go). Its claims name the configuration, and the API group for which the
bearer may call the webhook (``attestations``). policyd does not look up whether the configuration
still exists: a token lives at most ten minutes.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from time import time
from types import MappingProxyType
from typing import Any

import jwt
import orjson
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidSignatureError,
    PyJWTError,
)

from policyd.bounded_text import bounded
from policyd.errors import CallerRefused, UnknownIssuerKey
from policyd.tokens.issuer_keys import MAX_NAME_CHARS, KeySet, VerificationKey


class VerifiedTokens:
    """Caches the API groups of at most ``most`` verified tokens until they expire.

    Only verified tokens may be added: a flood of others must not displace them.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time) -> None:
        self._most = most
        self._clock = clock
        # In the order of arrival: the expiry, a Unix time, and the API group.
        self._found: dict[Hashable, tuple[float, str]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> str | None:
        """Return the API group; None if it is not known or the token has expired."""
        entry = self._found.get(key)
        if entry is None:
            return None
        ends, found = entry
        if self._clock() < ends:
            return found
        del self._found[key]
        return None

    def add(self, key: Hashable, found: str, ends: float) -> None:
        """Cache a token until the Unix time ``ends``."""
        if len(self._found) >= self._most:
            now = self._clock()
            self._found = {key: each for key, each in self._found.items() if now < each[0]}
        if len(self._found) >= self._most:
            del self._found[next(iter(self._found))]
        self._found[key] = (ends, found)

    def clear(self) -> None:
        """Forget all tokens, because other keys are in use."""
        self._found.clear()


# A token of Kubernetes has some 1,300 bytes.
MAX_TOKEN_BYTES = 8 * 2**10
# The clock skew of API servers that is accepted, as in Kubernetes.
LEEWAY_SECONDS = 60.0
# Cached tokens: one for each path, API server and ten minutes, with room for many.
MAX_VERIFIED = 1024
# The longest time in the cache: the lifetime of a token that is bound to a webhook configuration.
REMEMBERED_SECONDS = 600.0
# The list of API groups in ``attestations``; ``*`` means all.
ATTESTED_GROUPS = "admissionReviewAPIGroups"
# The claim with the configuration that a token is bound to, by webhook.
BOUND = {
    "validate": "validatingwebhookconfiguration",
    "mutate": "mutatingwebhookconfiguration",
}

_FORM = re.compile(rb"([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# Fields that Kubernetes, or an external signer (KEP-740), may write into a token's header. All
# others, such as the address of a key (jku, x5u) or an extension (crit), are refused.
_HEADER = frozenset(("alg", "kid", "typ"))
_REQUIRED = ["exp", "iat", "nbf", "sub", "aud", "iss"]
# Characters of a token's value in an error.
_SHOWN_CHARS = 200
_NO_KEYS: KeySet = MappingProxyType({})


class TokenVerifier:
    """Verifies tokens of one issuer for one webhook.

    ``audiences`` are the addresses of the webhook without a path; ``configurations`` are the names,
    or NAME/UID, of the webhook configurations whose callers are accepted.
    """

    def __init__(
        self,
        audiences: Sequence[str],
        configurations: Sequence[str],
        clock: Callable[[], float] = time,
    ) -> None:
        self._audiences = tuple(audiences)
        self._configurations = tuple(configurations)
        self._clock = clock
        self._verified = VerifiedTokens(MAX_VERIFIED, clock)
        self._issuer = ""
        self._keys = _NO_KEYS

    def use(self, issuer: str, keys: KeySet) -> bool:
        """Use these keys from now on; return whether they differ from the previous ones."""
        if (issuer, keys) == (self._issuer, self._keys):
            return False
        self._issuer, self._keys = issuer, keys
        self._verified.clear()
        return True

    def verify(
        self, token: bytes, webhook: str, path: str, permit: Callable[[], bool] = lambda: True
    ) -> str:
        """Return the API group whose reviews the token's bearer may send to ``webhook`` (validate
        or mutate) at this path; ``*``: all groups. Raises CallerRefused. ``permit`` decides whether
        to verify another signature, which takes a thousand times as long as a known token.
        """
        if len(token) > MAX_TOKEN_BYTES:
            raise CallerRefused("malformed", f"the token is longer than {MAX_TOKEN_BYTES} bytes")
        known = (webhook, path, sha256(token).digest())
        group = self._verified.get(known)
        if group is None:
            key = self._key(token)
            if not permit():
                raise CallerRefused("flood", "too many tokens to verify; try again", 503)
            claims = self._claims(token, key)
            self._check_audience(claims["aud"], path)
            self._check_bound(claims, webhook)
            group = _attested(claims)
            ends = int(claims["exp"]) + LEEWAY_SECONDS
            self._verified.add(known, group, min(ends, self._clock() + REMEMBERED_SECONDS))
        return group

    def _claims(self, token: bytes, key: VerificationKey) -> dict[str, Any]:
        """The claims of a token whose signature, times and issuer are valid."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                leeway=LEEWAY_SECONDS,
                options={"require": _REQUIRED, "verify_aud": False, "verify_iss": False},
            )
        except ExpiredSignatureError:
            raise CallerRefused("expired", "the token has expired") from None
        except ImmatureSignatureError:
            raise CallerRefused("not_yet_valid", "the token is not valid yet") from None
        except InvalidSignatureError:
            raise CallerRefused("signature", "the signature of the token is wrong") from None
        except PyJWTError as error:
            raise CallerRefused("malformed", f"the token cannot be used: {error}") from None
        if claims["iss"] != self._issuer:
            raise CallerRefused(
                "issuer",
                f"expected a token of the issuer {self._issuer}, got one of "
                f"{_shown(claims['iss'])}",
            )
        return claims

    def _key(self, token: bytes) -> VerificationKey:
        """The key that a token names. The key, not the token, determines the algorithm."""
        form = _FORM.fullmatch(token)
        header = _json(form[1]) if form else None
        if not isinstance(header, dict) or not header.keys() <= _HEADER:
            raise CallerRefused(
                "malformed", "expected a JSON Web Token with the header fields alg, kid and typ"
            )
        name = header.get("kid")
        if not isinstance(name, str) or len(name) > MAX_NAME_CHARS:
            raise CallerRefused("malformed", "expected a token whose header names a key (kid)")
        key = self._keys.get(name)
        if key is None:
            raise UnknownIssuerKey(
                "unknown_key", f"the issuer has no key {_shown(name)}; the token is not its own"
            )
        if header.get("alg") != key.algorithm:
            raise CallerRefused(
                "malformed",
                f"expected the algorithm {key.algorithm} of the key, got "
                f"{_shown(header.get('alg'))}",
            )
        return key

    def _check_audience(self, found: object, path: str) -> None:
        """Check that the token has exactly one audience: the address of the webhook."""
        expected = [each + path for each in self._audiences]
        only = found[0] if isinstance(found, list) and len(found) == 1 else found
        if only not in expected:
            raise CallerRefused(
                "audience",
                f"expected a token for {' or '.join(expected)} alone, got one for {_shown(found)}",
            )

    def _check_bound(self, claims: Mapping[str, Any], webhook: str) -> None:
        """Check that the token is bound to a configuration of the kind that calls this webhook."""
        private = _private(claims)
        wanted = BOUND[webhook]
        bound = {name: private[name] for name in BOUND.values() if private.get(name) is not None}
        reference = bound.get(wanted)
        named: tuple[object, ...] = ()
        if isinstance(reference, dict):
            name = reference.get("name")
            named = name, f"{name}/{reference.get('uid')}"
        if len(bound) != 1 or not any(each in self._configurations for each in named):
            found = ", ".join(f"{kind} {_shown(of)}" for kind, of in bound.items()) or "nothing"
            raise CallerRefused(
                "configuration",
                f"expected a token bound to the {wanted} {' or '.join(self._configurations)}, "
                f"got one bound to {found}",
            )


def _attested(claims: Mapping[str, Any]) -> str:
    """The API group that the issuer attests; there must be exactly one."""
    attestations = _private(claims).get("attestations")
    groups = attestations.get(ATTESTED_GROUPS) if isinstance(attestations, dict) else None
    only = groups[0] if isinstance(groups, list) and len(groups) == 1 else None
    if not isinstance(only, str) or not only:
        raise CallerRefused(
            "attestation",
            f"expected a token with one API group in attestations.{ATTESTED_GROUPS}, got "
            f"{_shown(groups)}",
        )
    return only


def _private(claims: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of Kubernetes; empty if there are none."""
    found = claims.get("kubernetes.io")
    return found if isinstance(found, dict) else {}


def _json(segment: bytes) -> object:
    """The JSON value of a part of a token; None if it is not JSON."""
    try:
        return orjson.loads(urlsafe_b64decode(segment + b"=" * (-len(segment) % 4)))
    except ValueError:
        return None


def _shown(value: object) -> str:
    """A value of a token, for an error message."""
    return bounded(repr(value), _SHOWN_CHARS)
