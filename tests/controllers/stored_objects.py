"""Objects of an API server in memory, for controllers: versions, conflicts, and what was sent. No
tests here.
"""

from collections.abc import Mapping

from policyd.cluster.objects import ObjectError
from policyd.json_types import JSONObject


class StoredObjects:
    """Implements the requests of ObjectClient that controllers send; ``refuse`` raises for each that
    begins with one of these strings.
    """

    def __init__(self) -> None:
        self.objects: dict[str, JSONObject] = {}
        self.sent: list[str] = []
        self.refuse: dict[str, ObjectError] = {}
        self._version = 0

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        self._note("GET", path)
        return self._found(path)

    async def create(self, path: str, body: JSONObject) -> JSONObject:
        self._note("POST", path)
        named = f"{path}/{body['metadata']['name']}"
        if named in self.objects:
            raise ObjectError(f"{named} exists", 409, "AlreadyExists")
        return self._store(named, body)

    async def replace(self, path: str, body: JSONObject) -> JSONObject:
        self._note("PUT", path)
        given = body["metadata"].get("resourceVersion")
        if given not in (None, self._found(path)["metadata"]["resourceVersion"]):
            raise ObjectError(f"{path} changed", 409, "Conflict")
        return self._store(path, body)

    async def apply(
        self, path: str, body: JSONObject, manager: str, *, force: bool, dry_run: bool = False
    ) -> JSONObject:
        self._note("APPLY", path)
        return self._store(path, body)

    async def delete(self, path: str, *, uid: str = "", resource_version: str = "") -> JSONObject:
        self._note("DELETE", path)
        return self.objects.pop(path)

    def _note(self, method: str, path: str) -> None:
        request = f"{method} {path}"
        self.sent.append(request)
        for beginning, error in self.refuse.items():
            if request.startswith(beginning):
                raise error

    def _found(self, path: str) -> JSONObject:
        if path not in self.objects:
            raise ObjectError(f"{path} not found", 404, "NotFound")
        return self.objects[path]

    def _store(self, path: str, body: JSONObject) -> JSONObject:
        self._version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self._version), "uid": path}
        self.objects[path] = {**body, "metadata": metadata}
        return self.objects[path]
