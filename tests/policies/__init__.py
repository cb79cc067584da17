"""Tests of the policies that come with policyd."""
