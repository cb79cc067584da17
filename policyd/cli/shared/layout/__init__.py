"""YAML as people write it, for commands that write documents."""
