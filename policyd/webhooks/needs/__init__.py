"""Find the requests, selectors and conditions that each policy needs in webhook configurations."""
