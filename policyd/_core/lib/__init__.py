"""One CEL library per file; each holds its signatures, examples, costs and code."""
