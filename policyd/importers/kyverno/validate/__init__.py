"""What a rule validates: `pattern`, `anyPattern`, `deny`, `foreach` and `podSecurity`."""
