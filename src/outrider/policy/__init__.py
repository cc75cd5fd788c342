"""The decisions: pure functions, one question a file."""
