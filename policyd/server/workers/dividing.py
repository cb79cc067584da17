"""What each of several workers may use of the limits of the server, whose sum the Pod must hold."""

from dataclasses import replace

from policyd.config import Settings
from policyd.errors import ConfigError

# Limits of the whole server. The limit of captured reviews is one of a directory, which the workers
# share (``capture.py``).
DIVIDED = ("max_in_flight", "max_in_flight_bytes", "max_read_bytes", "max_connections")


def part_of(settings: Settings) -> Settings:
    """Return the settings of one worker; raises ConfigError if a limit is too small to divide."""
    parts: dict[str, int] = {}
    for name in DIVIDED:
        whole = getattr(settings, name)
        parts[name] = whole // settings.workers
        if not parts[name]:
            flag = "--" + name.replace("_", "-")
            raise ConfigError(f"{flag} {whole} cannot be divided among {settings.workers} workers")
    return replace(settings, **parts)  # type: ignore[arg-type]
