"""Source files in ConfigMaps: those of policies, and those of teams with exceptions."""
