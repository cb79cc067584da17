"""Read the labels of a plain JSON object, even of an invalid one. Checks none."""

from policyd.json_types import JSON


def labels_of(obj: JSON) -> dict[str, str]:
    """Return the labels as strings; none for a non-object or without a map of labels."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {key: str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}
