"""IP addresses and URLs, as Go parses and prints them."""
