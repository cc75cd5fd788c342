"""HTTP: one visit, from a leased task to its outcome."""
