"""Tests of what ``make release`` writes; ``make release-trials`` tries whole wheels."""
