"""A part of the settings, for the reader: the keys themselves are one flat list."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Its docstring is the title that people see."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
