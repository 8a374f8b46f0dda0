"""Where a secret is: written as it stands, or as ``env:NAME`` or ``file:PATH``."""

import os
from pathlib import Path

from deltawire.domain.errors import DeclarationError


def read_secret(written: str, what: str) -> str:
    """The secret itself. ``what`` names the setting. Raises ``DeclarationError``, which names the variable or file."""
    kind, separator, rest = written.partition(":")
    match kind if separator else "":
        case "env":
            value = os.environ.get(rest, "")
            if not value:
                raise DeclarationError(f"{what} is in the environment variable {rest}, which is not set: set {rest}")
        case "file":
            value = _from_file(Path(rest), what)
        case _:
            value = written
    value = value.strip()
    if not (value.isascii() and value.isprintable()):
        raise DeclarationError(f"{what} holds characters that no HTTP header can carry: is it the right secret?")
    return value


def _from_file(path: Path, what: str) -> str:
    try:
        value = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise DeclarationError(f"{what} is in the file {path}, which cannot be read: {reason}") from None
    if not value.strip():
        raise DeclarationError(f"{what} is in the file {path}, which is empty")
    return value
