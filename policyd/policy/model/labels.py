"""The labels of an object that is plain JSON, whatever else is wrong with it. Checks none."""

from policyd.json_types import JSON


def labels_of(obj: JSON) -> dict[str, str]:
    """The labels as strings; none of what is no object, or has no map of labels."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {key: str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}
