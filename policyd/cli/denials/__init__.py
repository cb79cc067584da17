"""``policyd denials``: what a running server denied."""
