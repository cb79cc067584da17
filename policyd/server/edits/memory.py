"""The memory that a Pod has left: its control group's, of either version."""

from collections.abc import Iterator
from pathlib import Path

# A group without a limit has this number or a word.
_NO_LIMIT = 2**60
_FILES = {
    "2": ("memory.max", "memory.current", "inactive_file"),
    "1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def left_in_pod(
    group: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return the bytes between the limit of this process's group and what the group uses, without
    files that the kernel would drop; None if there is no limit.
    """
    for folder, version in _folders(group, mounted):
        limit, used, droppable = _FILES[version]
        try:
            most = (folder / limit).read_text().strip()
            if not most.isdecimal() or int(most) >= _NO_LIMIT:
                return None
            rows = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            files = next((int(row[1]) for row in rows if row[0] == droppable), 0)
            return int(most) - int((folder / used).read_text()) + files
        except (OSError, ValueError):
            continue
    return None


def _folders(group: Path, mounted: Path) -> Iterator[tuple[Path, str]]:
    """Yield where the files of the group may be: a container may see its group as the root."""
    try:
        rows = [line.split(":", 2) for line in group.read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in rows:
        if "memory" in controllers.split(","):
            yield mounted / "memory" / path.lstrip("/"), "1"
            yield mounted / "memory", "1"
    for _, controllers, path in rows:
        if not controllers:
            yield mounted / path.lstrip("/"), "2"
            yield mounted, "2"
