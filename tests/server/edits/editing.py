"""Edits of the ConfigMaps of policies, sent for review. No tests here."""

from typing import Any

from policyd.json_types import JSONObject
from tests.builders.config_maps import NAMESPACE
from tests.builders.reviews import body
from tests.server.process import Process

PATH = "/policies/validate"


def edit(
    server: Process, old: JSONObject | None, new: JSONObject | None, **fields: Any
) -> dict[str, Any]:
    """The response to the review of an edit."""
    operation = "UPDATE" if old and new else "CREATE" if new else "DELETE"
    name = ((new or old) or {})["metadata"]["name"]
    given = {"namespace": NAMESPACE, "name": name, "operation": operation, **fields}
    status, said = server.post(f"{PATH}?timeout=120s", body(object=new, oldObject=old, **given))
    assert status == 200, said
    response: dict[str, Any] = said["response"]
    return response


def message(response: dict[str, Any]) -> str:
    return str(response["status"]["message"])
