"""What commands do with policies and requests outside a server: explain, replay, cover."""
