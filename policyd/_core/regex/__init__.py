"""Regular expressions in linear time, with Go's syntax and meaning."""
