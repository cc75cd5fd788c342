"""Older layouts of a frontier, read so that they can be moved (S2): never written, unless asked to be cleaned."""
