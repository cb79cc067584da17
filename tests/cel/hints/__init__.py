"""Tests of hints about expressions."""
