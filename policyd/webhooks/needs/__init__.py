"""What each policy needs of webhook configurations: requests, selectors, conditions."""
