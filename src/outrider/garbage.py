"""How often does Python look for cycles that nobody needs? Seldom: we make next to none.

By default it looks after every 700 objects, through all of the youngest and now and then through everything. That is a
tenth of the time that a command takes to be loaded, and of a busy crawl.
"""

import gc
from typing import Final

_EVERY: Final = (50_000, 20, 50)


def collect_seldom() -> None:
    gc.set_threshold(*_EVERY)
