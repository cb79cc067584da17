"""JSON documents: reading, weighing, comparing. Knows no CEL and no patches."""
