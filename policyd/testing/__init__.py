"""policyd in the tests of others: the plugin of pytest."""
