"""``serve --last-good configmap/NAME``: the last good policies in a ConfigMap, compressed."""

import gzip
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from policyd.cluster.commands import Objects, open_objects
from policyd.cluster.objects import ObjectError
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.ownership import LABELS, MANAGER
from policyd.server.policies.last_good import PlaceError

KEY = "policies.gz"
# Kubernetes' limit on the values of a ConfigMap, in bytes before base64.
MAX_BYTES = 2**20
# The decompressed size, also of images that someone else wrote.
MAX_IMAGE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class LastGoodConfigMap:
    """An image in a ConfigMap. ``may_write``: whether this replica is the one that writes."""

    name: str
    namespace: str
    kubeconfig: Path | None
    timeout: float
    may_write: Callable[[], bool] = lambda: True

    @property
    def _path(self) -> str:
        return f"api/v1/namespaces/{self.namespace}/configmaps/{self.name}"

    def __str__(self) -> str:
        return f"configmap/{self.name}"

    def read(self) -> bytes | None:
        """Return the image; None if there is no ConfigMap."""
        try:
            with open_objects(self.kubeconfig, None, self.timeout) as objects:
                return self._stored(objects)
        except (ObjectError, ConfigError) as error:
            raise PlaceError(str(error)) from None

    def write(self, image: bytes) -> bool:
        """Replace the image unless it is equal: another replica may have written it."""
        if not self.may_write():
            return False
        packed = gzip.compress(image, mtime=0)
        if len(packed) > MAX_BYTES:
            raise PlaceError(
                f"the policies have {len(packed)} bytes compressed, and a ConfigMap holds"
                f" {MAX_BYTES}; keep them in a file",
                lasting=True,
            )
        metadata = {"name": self.name, "namespace": self.namespace, "labels": LABELS}
        body: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        body["binaryData"] = {KEY: b64encode(packed).decode()}
        try:
            with open_objects(self.kubeconfig, None, self.timeout) as objects:
                if not self._holds(objects, image):
                    objects.apply(self._path, body, MANAGER, force=True)
        except (ObjectError, ConfigError) as error:
            raise PlaceError(str(error)) from None
        return True

    def _holds(self, objects: Objects, image: bytes) -> bool:
        try:
            return self._stored(objects) == image
        except PlaceError:
            return False  # damaged: it is replaced

    def _stored(self, objects: Objects) -> bytes | None:
        try:
            found = objects.get(self._path)
        except ObjectError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        data = (found.get("binaryData") or {}).get(KEY)
        if data is None:
            return None
        try:
            return _unpacked(b64decode(data, validate=True))
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise PlaceError(f"its key {KEY} is damaged: {error}") from None


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)
    image = unpacking.decompress(packed, MAX_IMAGE_BYTES)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError(f"not complete within {MAX_IMAGE_BYTES >> 20} MiB")
    return image
