"""The content of a page as it was read, from the answer as it was sent."""

from outrider.fetch.body import BodyLimits, Decoded, decode
from outrider.model.capture import Capture


def decoded_again(capture: Capture, length: int, *, truncated: bool) -> Decoded:
    """As far as the record says that it was kept. Raises `BodyTooLarge` and `Undecodable`.

    Whoever crawled had limits, and kept within them: what is on record is the only one that matters now.
    """
    encodings = [value for name, value in capture.headers if name.lower() == "content-encoding"]
    limits = BodyLimits(decoded=length, ratio=float("inf"), encodings=len(encodings) + 16)
    return decode(capture.body, ", ".join(encodings) or None, complete=not truncated, limits=limits)
