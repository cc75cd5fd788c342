"""What must never be printed? The password of a URL, wherever it stands in a text."""

import re
from typing import Final

MASK: Final = "***"

# Greedy up to the last @, because a password may hold anything unescaped; a plain port is not a password.
_USERINFO: Final = re.compile(r"(?<=://)([^:/@\s]*):(?!\d+(?:[/?#]|$)).+@", re.DOTALL)
_QUERY: Final = re.compile(r"(?<=[?&])((?:ssl)?passw(?:or)?d|pwd|secret|token)=[^&#\s]*", re.IGNORECASE)
_SECRET_NAME: Final = re.compile(r"pass|secret|token|credential|api_?key", re.IGNORECASE)


def masked(text: str) -> str:
    return _QUERY.sub(rf"\1={MASK}", _USERINFO.sub(rf"\1:{MASK}@", text))


def names_a_secret(name: str) -> bool:
    """Would a setting of this name hold one? Asked of names that we do not know, such as `redis_password`."""
    return bool(_SECRET_NAME.search(name))
