"""The dashboard: what runs here, seen and steered from a browser or by a program. Nothing of it is needed to crawl."""
