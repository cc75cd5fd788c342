"""The nouns: frozen values, in the order of a URL's life. No I/O, no clock, no luck.

`url` → `task` → `site`, `lease` → `outcome` → `settlement` → `record`, `event`; `reason` says why, everywhere.
"""
