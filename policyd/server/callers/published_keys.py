"""The keys that an API server publishes for its tokens. Imported only if there is a cluster."""

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.server.callers.live_keys import KeySource
from policyd.tokens.issuer_keys import KeySet, read_keys

# The discovery document and the keys of an API server (pkg/serviceaccount/openidmetadata.go).
# policyd does not follow the document's jwks_uri, which may lead out of the cluster: only the
# connection to the API server is authenticated.
DISCOVERY = ".well-known/openid-configuration"
KEYS = "openid/v1/jwks"
_KEYS_TYPE = "application/jwk-set+json"


class PublishedKeys(KeySource):
    """The keys of the API server; ``issuer`` overrides the issuer that it names."""

    every = 60.0

    def __init__(self, objects: ObjectClient, issuer: str) -> None:
        self._objects = objects
        self._issuer = issuer

    async def read(self) -> tuple[str, KeySet]:
        """Query the API server."""
        try:
            issuer = self._issuer or (await self._objects.get(DISCOVERY)).get("issuer")
            data = await self._objects.read(KEYS, {}, _KEYS_TYPE)
        except ObjectError as error:
            raise ValueError(str(error)) from None
        if not isinstance(issuer, str) or not issuer:
            raise ValueError(f"the API server names no issuer in /{DISCOVERY}")
        return issuer, read_keys(data)
