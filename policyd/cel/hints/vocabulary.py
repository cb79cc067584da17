"""Words of other languages and tools, and what to write instead. Only data.

``vocabulary.json`` has the words by what replaces them. ``{0}``, ``{1}`` … are the operands, the
receiver first.
"""

import json
from collections.abc import Mapping
from pathlib import Path


def _by_word(rows: Mapping[str, str]) -> Mapping[str, str]:
    return {word: instead for instead, words in rows.items() for word in words.split()}


_TABLE = {
    section: _by_word(rows)
    for section, rows in json.loads(Path(__file__).with_suffix(".json").read_bytes()).items()
}
# Functions and variables are in lower case and without underscores.
FUNCTIONS, VARIABLES = _TABLE["functions"], _TABLE["variables"]
REQUEST_FIELDS = _TABLE["requestFields"]
# Words between two values, words before one, and names that CEL reserves.
INFIX, PREFIX, RESERVED = _TABLE["infix"], _TABLE["prefix"], _TABLE["reserved"]
