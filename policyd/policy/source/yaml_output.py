"""Write Kubernetes objects as readable YAML that ``kubectl`` accepts. Reads no YAML."""

from typing import Any

import yaml

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):  # type: ignore[misc]
    """Keeps the order of keys, writes multi-line strings as blocks, no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    # A block cannot hold trailing blanks; libyaml then falls back to quotes by itself.
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def dump(value: Any) -> str:
    """Return one YAML document, without ``---``."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=2**31 - 1,
    )
    return text.removesuffix("...\n")
