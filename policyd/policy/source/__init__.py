"""From files to documents: reading, splitting, YAML with positions, models."""
