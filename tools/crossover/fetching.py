"""Fetch the metrics of policyd. Understands nothing of them."""

import urllib.error
import urllib.request

TIMEOUT = 10.0  # seconds


class Unfetched(Exception):
    """Why metrics cannot be fetched."""


def fetched(url: str) -> str:
    """Return the metrics at a URL. Nothing else waits meanwhile, so this may block."""
    if not url.startswith(("http://", "https://")):
        raise Unfetched("expected a URL of HTTP")  # urllib would read files, too
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310 - see above
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            raise Unfetched(f"answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise Unfetched(str(error)) from None
