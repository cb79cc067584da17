"""Values that Kubernetes holds in another way than the same value written otherwise, and keys of maps."""

import pytest

from policyd._core.values.errors import CelError
from tests.core.lib.evaluate import evaluate

SMALLEST = "(-9223372036854775807 - 1)"


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        (f"sign(quantity('1n').sub({SMALLEST}))", 1),
        (f"sign(quantity('1').sub({SMALLEST}))", -1),
        (f"sign(quantity('-1').sub({SMALLEST}))", 1),
        (f"sign(quantity('0').sub({SMALLEST}))", -1),
        (f"quantity('10E').sub({SMALLEST}).asApproximateFloat()", 1.9223372036854776e19),
        (f"quantity('1').sub({SMALLEST}).asApproximateFloat()", -9.223372036854775807e18),
        ("quantity('10E').sub(9223372036854775807).isInteger()", False),
        ("quantity('10E').sub(1).isInteger()", False),
        ("quantity('1E').sub(1).isInteger()", True),
        ("quantity('1e0000000000000000000000003').isInteger()", True),
        ("semver('v2.0', true) in a", False),
        ("format.dns1123Label() in a", False),
        ("b'app' in a", False),
        ("quantity('1') in a", False),
        ("'%s'.format([google.protobuf.Int32Value{value: 3}])", "3"),
        ("'%d %x'.format([google.protobuf.Int64Value{value: 3}, dyn(255)])", "3 ff"),
    ],
)
def test_values_are_as_in_kubernetes(expression: str, want: object) -> None:
    found = evaluate(expression, a={"app": "web"})
    assert found == want, found.message if isinstance(found, CelError) else found
