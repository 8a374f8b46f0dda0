"""What an examination found. Plain values, so that it can be shown as a table or as JSON; none of them is a secret."""

from typing import Literal

from msgspec import Struct


class Setting(Struct, frozen=True):
    name: str
    """As in the file: ``http.status_hold``."""
    value: object
    origin: str
    """A flag, a variable, a file and its key, a decorator, or ``default``."""


class Secret(Struct, frozen=True):
    """A secret that a provider in use needs. Not the secret: where it is, and roughly how long."""

    provider: str
    setting: str
    origin: str
    found: bool
    length: str | None
    """In classes, because the exact length would help those who guess."""


class Reached(Struct, frozen=True, kw_only=True):
    """A model that functions run on."""

    model: str
    functions: list[str]
    reached: bool | None
    """``None`` where nobody was asked."""
    first_content: float | None = None
    """Seconds."""
    total: float | None = None
    reason: str | None = None
    message: str | None = None


class Finding(Struct, frozen=True):
    level: Literal["trouble", "note"]
    where: str
    message: str


class Report(Struct, frozen=True, kw_only=True):
    version: str
    app: str | None
    settings: list[Setting]
    secrets: list[Secret]
    models: list[Reached]
    findings: list[Finding]

    @property
    def is_well(self) -> bool:
        return not any(finding.level == "trouble" for finding in self.findings)
