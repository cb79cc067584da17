"""`match` and `exclude` of a rule, as matchConstraints and matchConditions."""
