"""Tests of the CEL front end."""
