"""What each part of an expression gave, for explanations."""
