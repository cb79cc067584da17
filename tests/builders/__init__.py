"""Valid policies, objects, reviews and suites for tests, changed by keywords. No tests here."""
