"""What an API server does with rendered configurations: which webhooks it calls. No tests here.

``policyd.webhooks.calls`` decides, which is compared with real API servers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policyd.json_types import JSONObject
from policyd.webhooks.calls import called, hooks_of


@dataclass(frozen=True, slots=True)
class Called:
    """A webhook of policyd that is called; ``failed``: the request is denied in its place."""

    kind: str
    path: str
    failed: bool = False

    @property
    def webhook(self) -> Any:
        """Return ``validate`` or ``mutate``."""
        return "mutate" if self.kind.startswith("Mutating") else "validate"


def calls(
    configurations: Sequence[JSONObject],
    request: JSONObject,
    namespaces: Mapping[str, Mapping[str, str]],
) -> Iterator[Called]:
    """Yield the webhooks that the API server calls for a request, as its client sent it; also those
    of which only the API server knows it. Each webhook is asked alone.
    """
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in namespaces.items()
    ]
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            alone = {**configuration, "webhooks": [webhook]}
            found = called(hooks_of([alone]), request, namespaces=spaces)
            if any(not other.undecided for other in found.others) and found.rejection is None:
                continue
            path = webhook["clientConfig"]["service"]["path"]
            yield Called(configuration["kind"], path, failed=found.rejection is not None)
