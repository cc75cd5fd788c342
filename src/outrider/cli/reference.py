"""The pages of docs/reference that are printed from the code, so that they cannot say something else.

`./scripts/reference` writes them; a test fails when one is out of date. A new page is a function and a line in `PAGES`.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from outrider.cli import api_reference, app, event_reference, metric_reference, reason_reference
from outrider.cli.exit_codes import ExitCode
from outrider.model.reason import Family
from outrider.settings import SECTIONS, Settings
from outrider.settings.describe import expected, meaning, shown, title
from outrider.settings.profiles import PROFILES
from outrider.settings.seeds import IGNORED, SEEDS
from outrider.settings.sources import PREFIX

_PRINTED: Final = "<!-- Printed by ./scripts/reference: change the code, not this page. -->"

_SETTINGS: Final = f"""\
# Settings

{_PRINTED}

A value comes from the first of these that has one:

1. a flag: `--set delay=2`, or a command's own option
2. the environment: `{PREFIX}DELAY=2`, or a name of another crawler (see the end of this page)
3. the file: `delay = 2` in `outrider.toml` of the working directory, or in `--config FILE`
4. the profile: `--profile audit`, `{PREFIX}PROFILE=audit` or `profile = "audit"` in the file
5. the default

`outrider config show` prints every value and where it came from; `outrider config check` only says whether all is well.
A key that does not exist, a value that does not fit and two keys that contradict each other are errors (exit code 2).

- Time is in seconds. Sizes are in bytes or like `512k` (1024 each), `10MiB`, `10MB` (1000 each).
- A switch is `true`, `1`, `yes`, `on` or `false`, `0`, `no`, `off`, in any case of letters.
- As text, a list is parted by commas (those inside brackets do not count), or is a JSON list; `[]` is the empty one.
- An empty variable of the environment counts as not set.
- Passwords in URLs are printed as `***`.
"""


def settings_page() -> str:
    lines = [_SETTINGS]
    for section in SECTIONS:
        lines += [
            f"## {title(section)}",
            "",
            *_table("key | default | takes | meaning", map(_key_row, section.model_fields)),
        ]
    lines += ["## Profiles", "", "`polite` is the defaults. The others change:", ""]
    changed = [key for key in Settings.model_fields if any(key in values for values in PROFILES.values())]
    names = [name for name in PROFILES if name != "polite"]
    lines += _table(" | ".join(["key", *names]), (_profile_row(key, names) for key in changed))
    lines += [
        "## Names of other crawlers",
        "",
        f"Accepted in the environment; a name with `{PREFIX}` wins over them.",
        "",
    ]
    lines += _table(
        "variable | key | in",
        ((f"`{name}`", f"`{seed.key}`", seed.unit or "") for name, seed in SEEDS.items()),
    )
    lines += ["Accepted without effect:", "", *(f"- `{name}`: {why}" for name, why in IGNORED.items())]
    return "\n".join(lines) + "\n"


def exit_codes_page() -> str:
    lines = [
        "# Exit codes",
        "",
        _PRINTED,
        "",
        *_table("code | meaning", ((str(int(code)), code.meaning) for code in ExitCode)),
    ]
    return "\n".join(lines[:-1]) + "\n"


def commands_page() -> str:
    lines = ["# Commands", "", _PRINTED, "", "What each returns to the shell: see [exit codes](exit-codes.md).", ""]
    for name, command in _commands("outrider", get_command(app)):
        lines += _command(name, command)
    return "\n".join(lines[:-1]) + "\n"


def events_page() -> str:
    lines = ["# Events", "", _PRINTED, "", event_reference.INTRODUCTION]
    for tag, kind in event_reference.event_types():
        lines += [f"## {tag}", "", event_reference.told(tag, kind), ""]
        lines += _table("field | type | meaning", event_reference.rows(kind))
    lines += ["## Reasons", "", "`reason` is one word of a closed list: see [the reasons](reasons.md).", ""]
    return "\n".join(lines[:-1]) + "\n"


def reasons_page() -> str:
    lines = ["# Reasons", "", _PRINTED, "", reason_reference.INTRODUCTION]
    for family in Family:
        lines += [f"## {reason_reference.TITLES[family]}", ""]
        lines += _table(reason_reference.HEADER, reason_reference.rows(family))
    return "\n".join(lines[:-1]) + "\n"


def metrics_page() -> str:
    lines = ["# Metrics", "", _PRINTED, "", metric_reference.INTRODUCTION]
    for name, table in metric_reference.SECTIONS:
        lines += [f"## {name}", "", *_table(metric_reference.HEADER, metric_reference.rows(table))]
    return "\n".join(lines[:-1]) + "\n"


def api_page() -> str:
    from outrider.web.app import described  # noqa: PLC0415 - its packages come with an extra

    document = described()
    lines = ["# The API", "", _PRINTED, "", api_reference.INTRODUCTION]
    for name, told, rows, about in api_reference.routes(document):
        lines += [f"## {name}", "", told, ""]
        if rows:
            lines += _table("parameter | in | type | meaning", rows)
        lines += [about, ""]
    lines += ["## Shapes", ""]
    for name, told, fields in api_reference.shapes(document):
        lines += [f"### {name}", ""]
        if told:
            lines += [told, ""]
        if fields:
            lines += _table("field | type", fields)
    return "\n".join(lines[:-1]) + "\n"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "exit-codes.md": exit_codes_page,
    "events.md": events_page,
    "reasons.md": reasons_page,
    "metrics.md": metrics_page,
    "api.md": api_page,
}


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


def _commands(name: str, command: object) -> Iterator[tuple[str, TyperCommand]]:
    match command:
        case TyperGroup(commands=below):
            for one, under in below.items():
                yield from _commands(f"{name} {one}", under)
        case TyperCommand():
            yield name, command


def _command(name: str, command: TyperCommand) -> list[str]:
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    options = [each for each in command.params if isinstance(each, TyperOption)]
    usage = " ".join([name, *(each.metavar or "" for each in arguments), "[OPTIONS]"])
    rows = [(f"`{each.metavar}`", each.help or "") for each in arguments]
    rows += [(f"`{_spelled(each)}`", each.help or "") for each in options]
    return [f"## {name}", "", command.help or "", "", "```sh", usage, "```", "", *_table("option | meaning", rows)]


def _spelled(option: TyperOption) -> str:
    names = ", ".join(option.opts)
    # A bar would end the cell of the table.
    return f"{names} {option.metavar.replace('|', ' or ')}" if option.metavar else names


def _table(header: str, rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {header} |"
    yield "|" + "---|" * (header.count("|") + 1)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _key_row(key: str) -> tuple[str, ...]:
    default = Settings.model_fields[key].default
    return f"`{key}`", f"`{shown(key, default)}`", expected(key), meaning(key)


def _profile_row(key: str, names: list[str]) -> tuple[str, ...]:
    values = (f"`{shown(key, PROFILES[name][key])}`" if key in PROFILES[name] else "" for name in names)
    return f"`{key}`", *values


if __name__ == "__main__":
    write(Path(sys.argv[1]))
