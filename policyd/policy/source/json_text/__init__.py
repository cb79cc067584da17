"""Read JSON as the API server does: its values, and what no other encoding can hold."""
