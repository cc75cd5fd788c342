"""Outrider: a polite crawl engine. Nothing lost, every URL explained."""

__version__ = "0.1.0"
