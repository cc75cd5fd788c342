"""One settings model: closed, flat, frozen, and every value knows where it came from.

`keys` are the settings themselves, `kinds` what a value may look like, `profiles` the sets of defaults, `sources` and
`seeds` where values are found, `load` how they become one; `describe` tells them, `contact` asks for a name.
"""

from outrider.settings.contact import is_loopback, require_contact
from outrider.settings.keys import SECTIONS, Settings
from outrider.settings.load import Loaded, load, settings_of

__all__ = ["SECTIONS", "Loaded", "Settings", "is_loopback", "load", "require_contact", "settings_of"]
