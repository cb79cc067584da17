"""Files in the working directory of a test, and commands that read them. No tests here."""

from pathlib import Path

import yaml
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.errors import PolicydError
from policyd.json_types import JSONObject


def write(file: str, *documents: JSONObject) -> str:
    """Write a file of documents and return its name."""
    Path(file).write_text(yaml.safe_dump_all(documents))
    return file


def run(*arguments: str) -> Result:
    """Run a command, which may refuse what is wrong but has no defect."""
    result = CliRunner().invoke(policyd, arguments)
    refused = (SystemExit, PolicydError)
    assert result.exception is None or isinstance(result.exception, refused), result.exception
    return result
