"""Tests of the import of Gatekeeper's templates and mutators."""
