"""The table of enumerations has every value that a real API server publishes."""

from policyd.policy.kinds.enums import built_in_enum
from tests.e2e.cluster import Cluster
from tools.make_enums import enumerations


def test_the_table_has_the_values_of_the_api_server(api: Cluster) -> None:
    published = enumerations(api)
    missing = {
        (definition, field): sorted(set(values) - built_in_enum(definition, field))
        for definition, fields in published.items()
        for field, values in fields.items()
        if not built_in_enum(definition, field).issuperset(values)
    }
    assert missing == {}
    assert len(published) > 50
