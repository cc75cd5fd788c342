"""What must never be printed? The password of a URL, wherever it stands in a text."""

import re
from typing import Final

MASK: Final = "***"

# Greedy up to the last @, because a password may hold anything unescaped; a plain port is not a password.
# Only web pages are found at a port and an @ in the path; elsewhere digits may begin a password, too.
_USERINFO: Final = re.compile(
    r"(?:(?<=http://)|(?<=https://))([^:/\s]*):(?!\d+(?:[/?#]|$)).+@"
    r"|(?<!http://)(?<!https://)(?<=://)([^:/\s]*):.+@",
    re.DOTALL | re.IGNORECASE,
)
_QUERY: Final = re.compile(
    r"(?<=[?&])((?:[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key)|pass))=[^&#\s]*", re.IGNORECASE
)
_SECRET_NAME: Final = re.compile(r"pass|secret|token|credential|api_?key", re.IGNORECASE)


def masked(text: str) -> str:
    return _QUERY.sub(rf"\1={MASK}", _USERINFO.sub(lambda found: f"{found[1] or found[2] or ''}:{MASK}@", text))


def names_a_secret(name: str) -> bool:
    """Would a setting of this name hold one? Asked of names that we do not know, such as `redis_password`."""
    return bool(_SECRET_NAME.search(name))
