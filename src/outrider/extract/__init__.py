"""Bytes → links: pure functions."""
