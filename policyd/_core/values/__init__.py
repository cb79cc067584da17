"""CEL values and errors: types, conversion, equality, printing."""
