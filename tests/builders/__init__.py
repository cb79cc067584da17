"""Builders of valid policies, objects, reviews and suites, varied by keywords. No tests here."""
