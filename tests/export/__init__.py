"""Tests of the export: the documents mean what their source means."""
