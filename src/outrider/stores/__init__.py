"""Backends, named by URL: every one passes the same public contract suite (`outrider.testing.contracts`)."""
