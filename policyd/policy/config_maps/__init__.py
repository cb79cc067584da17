"""Source files in ConfigMaps: policies, and exceptions of teams."""
