"""Where does each value come from? Flags beat the environment, which beats the file, the profile and the default.

Configuration is closed: what nobody knows, what cannot be read and what contradicts itself is a `ConfigError` that
lists every problem, one a line, with key, value, source and what was expected.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from outrider.errors import ConfigError
from outrider.settings.describe import expected, shown
from outrider.settings.keys import Settings
from outrider.settings.profiles import PROFILES
from outrider.settings.secrets import masked
from outrider.settings.sources import (
    FILE,
    Given,
    Layer,
    did_you_mean,
    from_environment,
    from_file,
    from_flags,
    quoted,
    spelled,
)

_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class Loaded(NamedTuple):
    """`provenance` says of every key where its value came from: "environment OUTRIDER_DELAY", "profile audit", …"""

    settings: Settings
    provenance: Mapping[str, str]


def load(
    flags: Mapping[str, object] = _NOTHING,
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    usual_profile: str | None = None,
) -> Loaded:
    """All sources together. Without `file`, an `outrider.toml` of the working directory is read if there is one.

    `usual_profile` is where a command starts from when nobody says otherwise.
    """
    found = file or Path(FILE)
    layers = [
        Layer({"profile": Given(usual_profile, "default", usual_profile)} if usual_profile else {}, []),
        from_file(found) if file is not None or found.exists() else Layer({}, []),
        from_environment(os.environ if environment is None else environment, Settings.model_fields),
        from_flags(flags),
    ]
    return _merged(layers)


def settings_of(**keys: object) -> Settings:
    """Settings for code that asks neither file nor environment: `settings_of(profile="audit", delay=0)`."""
    return _merged([from_flags(keys)]).settings


def _merged(layers: Iterable[Layer]) -> Loaded:
    """Later layers are stronger. A value that a stronger layer hides is not judged; a name that nobody knows is."""
    given: dict[str, Given] = {}
    problems: list[str] = []
    for layer in layers:
        problems += layer.problems
        problems += [_unknown(key, value) for key, value in layer.given.items() if key not in Settings.model_fields]
        given |= layer.given
    known = {key: value for key, value in given.items() if key in Settings.model_fields}
    try:
        settings = Settings.model_validate({key: value.value for key, value in known.items()})
    except ValidationError as error:
        problems += _explained(error, known)
    else:
        if not problems:
            return Loaded(settings, _provenance(settings.profile, known))
    raise ConfigError(_listed(problems))


def _provenance(profile: str, given: Mapping[str, Given]) -> Mapping[str, str]:
    sources = dict.fromkeys(Settings.model_fields, "default")
    sources |= dict.fromkeys(PROFILES[profile], f"profile {profile}")
    sources |= {key: value.source for key, value in given.items()}
    return MappingProxyType(sources)


def _unknown(key: str, value: Given) -> str:
    hint = did_you_mean(key, Settings.model_fields) or "; outrider config show lists them all"
    if isinstance(value.value, dict):
        return f"[{spelled(key)}] ({value.source}): no such key; keys stand at the top of the file, not in tables"
    return f"{spelled(key)} = {quoted(key, value.written)} ({value.source}): no such key{hint}"


def _explained(error: ValidationError, given: Mapping[str, Given]) -> list[str]:
    """A key is named once, however many of its items are wrong."""
    by_key: dict[str, str] = {}
    contradictions: list[str] = []
    for detail in error.errors(include_url=False):
        if detail["type"] == "contradiction":
            contradictions += _contradictions(detail, given)
        else:
            key = str(detail["loc"][0])
            by_key.setdefault(key, _wrong_value(key, detail, given[key]))
    return [*by_key.values(), *contradictions]


def _wrong_value(key: str, detail: ErrorDetails, given: Given) -> str:
    cause = detail.get("ctx", {}).get("error")
    # The cause may quote a part of the value, in which a password would no longer be known as one.
    hides_something = masked(str(given.written)) != str(given.written)
    why = f"; {cause}" if isinstance(cause, ValueError) and str(cause) and not hides_something else ""
    annotation = Settings.model_fields[key].annotation
    choices = [choice for choice in get_args(annotation) if isinstance(choice, str)]
    hint = did_you_mean(str(given.value), choices)
    return f"{key} = {quoted(key, given.written)} ({given.source}): expected {expected(key)}{why}{hint}"


def _contradictions(detail: ErrorDetails, given: Mapping[str, Given]) -> list[str]:
    whole: Settings = detail["ctx"]["settings"]
    sources = _provenance(whole.profile, given)

    def sourced(key: str) -> str:
        return f"{key} = {shown(key, getattr(whole, key))} ({sources[key]})"

    return [f"{sourced(one)} {claim} {sourced(other)}" for one, claim, other in detail["ctx"]["found"]]


def _listed(problems: list[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return "\n".join([f"{len(problems)} problems with the settings:", *(f"  {problem}" for problem in problems)])
