"""Types of OpenAPI schemas, and the merging and decoding that follow them."""
