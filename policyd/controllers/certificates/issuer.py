"""Issues certificates in a process of its own, so that its memory ends with it."""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass

from policyd.errors import PolicydError
from policyd.tls.pem import KeyPair

# Issuing takes a tenth of a second.
SECONDS = 60.0


class IssuingError(PolicydError):
    """The process that issues certificates failed."""


@dataclass(frozen=True, slots=True)
class IssuedPairs:
    """What was issued; the authority only if it is new."""

    authority: KeyPair | None
    leaf: KeyPair | None


@dataclass(frozen=True, slots=True)
class IssueOrder:
    """``tls.issuing.Order``, which imports what this process is to be spared."""

    now: float
    lifetime: float
    names: tuple[str, ...]
    authority: tuple[str, str] | None


async def issue(
    now: float, lifetime: float, names: tuple[str, ...], authority: KeyPair | None
) -> IssuedPairs:
    """Issue a leaf for ``names``, if there are any; by a new authority if none is given. Raises
    IssuingError.
    """
    signer = None if authority is None else (authority[0].decode(), authority[1].decode())
    order = json.dumps(asdict(IssueOrder(now, lifetime, names, signer))).encode()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "policyd.tls.issuing",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(SECONDS):
                answer, said = await process.communicate(order)
        except TimeoutError:
            process.kill()
            raise
    except (OSError, TimeoutError) as error:
        raise IssuingError(f"cannot issue certificates: {error!r}") from None
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise IssuingError(f"cannot issue certificates: status {process.returncode}: {last}")
    issued = json.loads(answer)
    return IssuedPairs(*(_pair(issued[each]) for each in ("authority", "leaf")))


def _pair(strings: list[str] | None) -> KeyPair | None:
    return None if strings is None else KeyPair(strings[0].encode(), strings[1].encode())
