"""Check the commits that are not on origin/main yet, or the last one: subjects and reasons.

python -m tools.check_commits    # list what is missing; the status is 1 if there is anything

A subject is shorter than 72 characters. A commit that changes policyd/ has a body, which says why.
Merges and checkouts without history are not checked.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools import tree

SUBJECT = 72


def git(root: Path, *arguments: str) -> str:
    """Return what git prints; empty if it cannot answer."""
    run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""


def problems(root: Path) -> Iterator[str]:
    """Every commit of a checkout whose message is not complete, with the remedy."""
    new = git(root, "rev-list", "--no-merges", "origin/main..HEAD").split()
    for commit in new or git(root, "rev-list", "--no-merges", "--max-count=1", "HEAD").split():
        subject, _, body = git(root, "show", "--no-patch", "--format=%B", commit).partition("\n")
        if len(subject) >= SUBJECT:
            long = f"the subject has {len(subject)} characters"
            yield f"{commit[:8]}: {long}: write fewer than {SUBJECT}"
        if not body.strip() and git(root, "diff-tree", "--root", "-r", commit, "--", "policyd"):
            yield f"{commit[:8]}: '{subject}' changes policyd/ and has no body: say why"


def main() -> int:
    """Print the problems."""
    listed = list(problems(tree.ROOT))
    print("\n".join((*listed, f"{len(listed)} commits to reword")))
    return 1 if listed else 0


if __name__ == "__main__":
    sys.exit(main())
