"""Every function that policyd knows, declared for expressions that are checked without an environment."""

from policyd.cel.types.declarations import parse_signature
from policyd.cel.types.functions import functions as known
from policyd.versions import NEWEST

STANDARD = [
    parse_signature(row.signature, row.name, row.id) for row in known(NEWEST).by_id.values()
]
