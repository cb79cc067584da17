"""Policy sources: from YAML and JSON files to checked models, compiled policies and suites."""
