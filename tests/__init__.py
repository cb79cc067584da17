"""The tests of policyd; the folders mirror the package."""
