"""What the text of YAML says beside its values: places, and what is wrong in plain words."""
