"""Files of deploy/ that tools/make_chart.py writes are current, and every value has a description."""

from pathlib import Path

import pytest
import yaml

from tests.shared import ROOT
from tools import make_chart

CONTENTS = make_chart.contents()


@pytest.mark.parametrize("file", CONTENTS, ids=lambda each: str(each.relative_to(ROOT)))
def test_file_is_current(file: Path) -> None:
    assert file.read_text() == CONTENTS[file], "run: python -m tools.make_chart"


def test_every_value_is_described() -> None:
    """A mapping without a description has one for each of its values."""
    text = (make_chart.CHART / "values.yaml").read_text()
    described = {path for path, _ in make_chart.documented(text)}
    for name, value in yaml.safe_load(text).items():
        if name not in described:
            assert {f"{name}.{inner}" for inner in value} <= described
