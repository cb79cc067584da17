"""What depends on whether the output is a terminal: its colors and its width."""
