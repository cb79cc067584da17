"""Write Kubernetes objects as readable YAML that ``kubectl`` accepts. Reads no YAML."""

from typing import Any

import yaml

from policyd.policy.source.yaml_nodes import is_plain_string
from policyd.policy.source.yaml_text.marks import has_other_breaks

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):  # type: ignore[misc]
    """Keeps the order of keys, writes multi-line strings as blocks, no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    # A block cannot hold trailing blanks; libyaml then falls back to quotes by itself. It would
    # indent what follows another line break. Kubernetes reads more plain words as booleans and
    # numbers than PyYAML does: y, 1e3, 0o17.
    style = "|" if "\n" in value else None if is_plain_string(value) else "'"
    if has_other_breaks(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump(value: Any, *, flow: bool = False) -> str:
    """Return one YAML document, without ``---``; ``flow``: on one line, in braces and brackets."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=flow,
        width=2**31 - 1,
    )
    # Only on a separate line is it the mark of the end, and not the end of a string.
    return text.removesuffix("...\n") if text.endswith("\n...\n") else text
