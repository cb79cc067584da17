"""The serving certificate and the client CAs: reads them from files, or from memory that a
controller fills, and reads them again when they change.

Independent of sockets, and writes nothing to disk. Each reload creates a new context
(``handshakes.py``), so that errors in new files leave the current context unchanged.
"""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.regular_files import read_regular
from policyd.tls.handshakes import Context, Refusal, SwitchableContext
from policyd.tls.issued import SelfSigned
from policyd.tls.pem import KeyPair, certificates_in, load_pair, validity

# Bytes of one file. All public CAs of a browser take a quarter of it.
MAX_BYTES = 1 << 20


class PairSource(Protocol):
    """Returns the serving certificate and its key."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to watch for changes."""

    def read(self) -> KeyPair | None:
        """The pair; None while there is none yet. Raises ConfigError."""


class PairFiles:
    """A pair in two files, such as the files of a mounted Secret."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.files = certificate, key
        self.name = f"{certificate} and {key}"

    def read(self) -> KeyPair:
        """Read both files."""
        return KeyPair(
            read_file(self.files[0], "certificate"),
            read_file(self.files[1], "key"),
        )


class HeldPair:
    """A pair in memory; ``pair`` may be replaced."""

    files: tuple[Path, ...] = ()

    def __init__(self, name: str, pair: KeyPair | None = None) -> None:
        self.name = name
        self.pair = pair

    def read(self) -> KeyPair | None:
        """The current pair."""
        return self.pair


def read_file(file: Path, what: str) -> bytes:
    """The content of a file; ``what`` it is, for messages. Raises ConfigError."""
    try:
        return read_regular(file, MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"{what} {file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{what} {file}: {error}") from None


@dataclass(frozen=True, slots=True)
class CertificateReload:
    """The changes of a reload: whether the certificate changed, how many CAs were added and
    removed, and which files could not be used.
    """

    certificate: bool = False
    added: int = 0
    removed: int = 0
    problems: tuple[str, ...] = ()


class Certificates:
    """The listener's context; ``reload`` changes the context of new connections.

    ``source`` returns the certificate; None: the source that the settings name. Without a
    certificate nothing can be served. ``refused`` is called for each failed handshake with the
    reason, one of ``REFUSALS``, and a message.
    """

    def __init__(
        self,
        settings: Settings,
        refused: Callable[[Refusal, str], None] = lambda *_: None,
        source: PairSource | None = None,
    ) -> None:
        self._source = source or _configured(settings)
        self._client_ca = settings.client_ca
        self._http2 = settings.server == "hypercorn"
        self._client_names = settings.client_name
        self._refused = refused
        self._pair: KeyPair | None = None
        self.context = SwitchableContext()
        self.valid = (0.0, 0.0)  # from and until, as Unix times
        self._authorities: list[bytes] = []
        problems = self.reload().problems
        if problems:
            raise ConfigError("; ".join(problems))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are watched for changes."""
        authorities = () if self._client_ca is None else (self._client_ca,)
        return *self._source.files, *authorities

    def reload(self) -> CertificateReload:
        """Read the files and use them for new connections.

        Problems with the files are returned; the previous files then stay in use. A broken
        CA does not prevent the use of a new certificate, and vice versa.
        """
        problems: list[str] = []
        pair, valid, authorities = self._pair, self.valid, self._authorities
        try:
            pair = self._source.read()
            if pair is not None:
                self._load_pair(Context(self._http2), pair)
                valid = self._validity(pair)
        except ConfigError as error:
            problems.append(str(error))
            pair, valid = self._pair, self.valid
        try:
            if self._client_ca is not None:
                authorities = _authorities(self._client_ca)
        except ConfigError as error:
            problems.append(str(error))
        before, after = set(self._authorities), set(authorities)
        change = CertificateReload(
            pair != self._pair, len(after - before), len(before - after), tuple(problems)
        )
        if pair is not None and (pair, after) != (self._pair, before):
            # Only after a change: a new context invalidates tickets and sessions.
            self.context.current = self._new_context(pair, authorities)
            self._pair, self.valid, self._authorities = pair, valid, authorities
        return change

    def _new_context(self, pair: KeyPair, authorities: Sequence[bytes]) -> Context:
        def trusts(authority: bytes) -> bool:
            return authority in self.context.current.authorities

        context = Context(self._http2, trusts, self._refused, self._client_names)
        self._load_pair(context, pair)
        if authorities:
            context.require_clients(authorities)
        return context

    @property
    def pair(self) -> KeyPair | None:
        """The served certificate; None before there is one."""
        return self._pair

    @property
    def served(self) -> bool:
        """Whether there is a certificate to serve."""
        return self._pair is not None

    @property
    def expires_at(self) -> float | None:
        """The expiry of the current certificate as Unix time; None without one."""
        return self.valid[1] if self.served else None

    def _validity(self, pair: KeyPair) -> tuple[float, float]:
        try:
            return validity(pair.certificate)
        except (ValueError, IndexError) as error:
            raise ConfigError(
                f"{self._source.name}: cannot read the validity of the certificate: {error}"
            ) from None

    def _load_pair(self, context: Context, pair: KeyPair) -> None:
        certificate, key = (f"{each}: " for each in self._source.files or ("certificate", "key"))
        try:
            certificates_in(pair.certificate)
        except ValueError as error:
            mistake = f"{certificate}{error}"
        else:
            try:
                load_pair(context, pair)
                return
            except (OSError, ValueError) as error:
                from policyd.tls.keys import mistake_in_key

                found = mistake_in_key(pair, error)
                mistake = f"{key}{found}" if found else str(error)
        raise ConfigError(
            f"{self._source.name}: not a usable pair of certificate and key: {mistake}"
        )


def self_signed(settings: Settings) -> SelfSigned:
    """Begin to issue the certificate of ``--self-signed``."""
    host = urlsplit(settings.webhook_url).hostname
    return SelfSigned([host] if host else [])


def _configured(settings: Settings) -> PairSource:
    """The source of the certificate that the settings name; raises ConfigError if they do not."""
    if settings.self_signed:
        return self_signed(settings)
    if settings.tls_cert is None or settings.tls_key is None:
        raise ConfigError(
            "a certificate is needed: set --tls-cert and --tls-key, --manage-certificates, or"
            " --self-signed"
        )
    return PairFiles(settings.tls_cert, settings.tls_key)


def _authorities(file: Path) -> list[bytes]:
    """The CAs in a file as DER. Raises ConfigError if a context refuses them."""
    try:
        found = certificates_in(read_file(file, "client CA"))
        Context(http2=False).require_clients(found)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"--client-ca {file}: not a certificate authority: {error}") from None
    return found
