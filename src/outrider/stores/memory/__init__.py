"""Everything in this process: the reference, for tests and for small crawls that need not survive."""
