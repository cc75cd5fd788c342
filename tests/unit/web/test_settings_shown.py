"""What is in force and who said so, without what nobody may read."""

from outrider.settings import load
from outrider.web.settings_shown import settings_shown


def test_a_password_is_never_shown() -> None:
    loaded = load({"frontier": "redis://me:hush-hush@127.0.0.1/0"}, environment={})

    told = settings_shown(loaded)

    rows = {row.key: row for section in told.sections for row in section.rows}
    assert "hush-hush" not in str(told)
    assert rows["frontier"].value.startswith("redis://me:")
    assert rows["frontier"].source != "default"
