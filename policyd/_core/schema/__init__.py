"""Types of OpenAPI schemas, and merging and decoding by type."""
