"""``--require-api-server-token``: check the tokens of a server's callers."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from policyd.config import Settings
from policyd.errors import CallerRefused, ConfigError
from policyd.http.callers import CallerCheck
from policyd.http.messages import Header
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.policy.model.suite import Webhook
from policyd.server.callers.live_keys import KeyFile, KeySource, LiveKeys
from policyd.server.cluster.own_namespace import own_namespace
from policyd.token_bucket import AddressPace
from policyd.tokens.verifier import TokenVerifier

if TYPE_CHECKING:
    from policyd.server.cluster.cluster_connection import ClusterConnection

# Why a request is refused.
CAUSES = (
    "missing",
    "malformed",
    "unknown_key",
    "signature",
    "expired",
    "not_yet_valid",
    "issuer",
    "audience",
    "configuration",
    "attestation",
    "group",
    "flood",
)
# Signatures that one address may have verified: at once, and per second after that. An API server
# gets a few new tokens in ten minutes; verifying one takes up to some milliseconds.
BURST = 100
RATE = 20.0
_AUTHORIZATION = b"authorization"
_BEARER = b"bearer"


class RequiredTokens(CallerCheck):
    """Checks the tokens of callers, for ``http.callers``, with the current ``keys``."""

    def __init__(
        self,
        settings: Settings,
        cluster: "ClusterConnection | None",
        recorder: PrometheusRecorder,
        log: Log,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._verifier = TokenVerifier(
            audiences(settings), settings.token_configuration or (settings.webhook_name,)
        )
        self.keys = LiveKeys(_source(settings, cluster), self._verifier.use, log)
        self._pace = AddressPace(BURST, RATE, clock)
        self._refused = recorder.unauthenticated = dict.fromkeys(CAUSES, 0)

    def check(self, headers: Sequence[Header], webhook: Webhook, path: str, address: str) -> str:
        """Return the API group whose reviews the client may send. Raises CallerRefused."""
        given = [value for name, value in headers if name == _AUTHORIZATION]
        if len(given) != 1:
            found = "several" if given else "none"
            raise CallerRefused(
                "malformed" if given else "missing",
                f"expected one Authorization header with a token of the API server, got {found}",
            )
        scheme, _, token = given[0].partition(b" ")
        if scheme.lower() != _BEARER:
            raise CallerRefused("malformed", "expected Authorization: Bearer TOKEN")
        permit = partial(self._pace.take, address)
        return self._verifier.verify(token.strip(b" "), webhook, path, permit)

    async def renewed(self, address: str, deadline: int) -> bool:
        """Wait for new keys after an UnknownIssuerKey; False if none arrive in time."""
        return await self.keys.renewed(address, deadline)

    def refused(self, cause: str) -> None:
        """Count a refused request."""
        self._refused[cause] += 1

    def unready(self) -> list[str]:
        """Why the server is not ready: there are no keys to verify tokens with."""
        if self.keys.known:
            return []
        return [f"no keys of API server tokens: {self.keys.problem}"]


def audiences(settings: Settings) -> tuple[str, ...]:
    """The addresses of this webhook, without a path, as Kubernetes writes them into tokens
    (validateWebhookAudience in pkg/registry/core/serviceaccount/storage/token.go).
    """
    if settings.token_audience:
        return settings.token_audience
    if settings.webhook_url:
        return (settings.webhook_url,)
    namespace = own_namespace(settings)
    if not namespace:
        raise ConfigError(
            "--require-api-server-token needs --token-audience or --namespace: the address of "
            "the Service that tokens are for is not known"
        )
    service = settings.webhook_service
    return (f"https://{service.name}.{namespace}.svc:{service.port}",)


def _source(settings: Settings, cluster: "ClusterConnection | None") -> KeySource:
    if settings.token_keys is not None:
        return KeyFile(settings.token_keys, settings.token_issuer)
    assert cluster is not None  # Settings checks it
    from policyd.server.callers.published_keys import PublishedKeys

    return PublishedKeys(cluster.objects, settings.token_issuer)
