"""How many connections fit the limit of open files of the process (RLIMIT_NOFILE).

Beyond that limit nothing could be accepted, not even a probe, until a client leaves. So the limits
of connections are kept below it, where idle connections make room for new ones.
"""

import resource

from policyd.observability.logs import Log

# Files that policyd itself needs: sockets, inotify, the log, policies and certificates being read,
# connections to an API server.
OWN = 24
# Connections to the admin port: probes, a few scrapers, and people.
ADMIN = 64
# ``PortConnections`` allows this many connections for each 8: one that was told to close may last.
NINTHS = 9


def fitting(connections: int, log: Log) -> tuple[int, int]:
    """Return how many connections the review port and the admin port may have, at most
    ``connections`` and ADMIN; the soft limit is raised as far as necessary and possible.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = OWN + _with_closing(connections) + _with_closing(ADMIN)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections, ADMIN
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    admin = min(ADMIN, soft // 8)
    left = soft - OWN - _with_closing(admin)
    most = max(1, min(connections, left * (NINTHS - 1) // NINTHS))
    if most < connections:
        message = (
            f"no more than {most} connections, instead of the {connections} of --max-connections:"
            f" the process may open {soft} files"
        )
        log.write("warning", "limit", message)
    return most, admin


def _with_closing(connections: int) -> int:
    return connections + max(1, connections // (NINTHS - 1))
