"""Go's own reading and printing of numbers, strings and time zones. Knows no CEL."""
