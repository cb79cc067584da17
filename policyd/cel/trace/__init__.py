"""Record the value of each part of an expression, for explanations."""
