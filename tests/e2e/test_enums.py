"""The table of enumerations has every value that a real API server publishes."""

from policyd.policy.kinds.object_types import built_in_enum
from tests.e2e.cluster import Cluster


def test_the_table_has_the_values_of_the_api_server(api: Cluster) -> None:
    missing, published = {}, 0
    for _, document in api.schemas():
        for definition, schema in document.get("components", {}).get("schemas", {}).items():
            for field, member in schema.get("properties", {}).items():
                for mark, part in (
                    ("", member),
                    ("[]", member.get("items") or {}),
                    ("{}", member.get("additionalProperties") or {}),
                ):
                    values = set(part.get("enum", ()))
                    published += bool(values)
                    if values - built_in_enum(definition, field + mark):
                        missing[definition, field + mark] = values
    assert missing == {}
    assert published > 50
