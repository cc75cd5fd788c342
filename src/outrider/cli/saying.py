"""A sentence to the person, without all that it takes to fill a terminal (`terminal`)."""

import sys

from outrider.observe.words import visible


def say(sentence: str) -> None:
    """Beside the output: on the error output, as every message of ours."""
    sys.stderr.write(f"outrider: {visible(sentence)}\n")
