"""Which setting is in force, and who said so? Every key with its value, never with a password."""

from outrider.settings import SECTIONS, Loaded
from outrider.settings.describe import expected, meaning, shown, title
from outrider.web.shapes import SettingRow, SettingSection, SettingsShown


def settings_shown(loaded: Loaded) -> SettingsShown:
    settings, provenance = loaded
    return SettingsShown(
        profile=settings.profile,
        sections=tuple(
            SettingSection(
                title(section),
                tuple(
                    SettingRow(key, shown(key, getattr(settings, key)), provenance[key], meaning(key), expected(key))
                    for key in section.model_fields
                ),
            )
            for section in SECTIONS
        ),
    )
