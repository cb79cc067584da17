"""The tests of the source, run against what was imported."""
