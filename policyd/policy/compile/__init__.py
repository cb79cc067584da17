"""Documents made into compiled policies and policy sets."""
