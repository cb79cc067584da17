"""Tests of what `policyd bench` measures with."""
