"""Listeners: what a person sees of a crawl, while it runs and when it is over. They are told; they decide nothing."""
