"""Where a secret is: written as it stands, or as ``env:NAME``, ``file:PATH``, or in one of AWS's stores as ``ssm:NAME``
or ``secretsmanager:NAME``."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from deltawire.domain.errors import DeclarationError

if TYPE_CHECKING:
    from deltawire.aws.stores import Kind


class Secrets:
    """Reads secrets. What a store has handed out is kept, so that each is fetched once."""

    def __init__(self) -> None:
        self._fetched: dict[str, str] = {}

    def read(self, written: str, what: str, *, anew: bool = False) -> str:
        """The secret itself. ``what`` names the setting. With ``anew`` a store is asked again. May wait for a store,
        for some seconds at most. Raises ``DeclarationError``, which names the variable, the file or the entry of a
        store, and what is wrong with it."""
        kind, separator, rest = written.partition(":")
        match kind if separator else "":
            case "env":
                value = os.environ.get(rest, "")
                if not value:
                    raise DeclarationError(
                        f"{what} is in the environment variable {rest}, which is not set: set {rest}"
                    )
            case "file":
                value = _from_file(Path(rest), what)
            case "ssm" | "secretsmanager" as store:
                kept = None if anew else self._fetched.get(written)
                value = self._fetched[written] = _from_store(store, rest, what) if kept is None else kept
            case _:
                value = written
        value = value.strip()
        if not (value.isascii() and value.isprintable()):
            raise DeclarationError(f"{what} holds characters that no HTTP header can carry: is it the right secret?")
        return value


def place_of(written: str) -> str | None:
    """Where it is, for messages; ``None`` for one that is written as it stands."""
    kind, separator, rest = written.partition(":")
    match kind if separator else "":
        case "env":
            return f"the variable {rest}"
        case "file":
            return f"the file {rest}"
        case "ssm" | "secretsmanager" as store:
            from deltawire.aws.stores import named

            return named(store, rest)
        case _:
            return None


def _from_file(path: Path, what: str) -> str:
    try:
        value = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise DeclarationError(f"{what} is in the file {path}, which cannot be read: {reason}") from None
    if not value.strip():
        raise DeclarationError(f"{what} is in the file {path}, which is empty")
    return value


def _from_store(kind: "Kind", name: str, what: str) -> str:
    """In a thread, with an event loop of its own: at the start there may be a loop already, or none yet."""
    from deltawire.aws.identity import AwsError
    from deltawire.aws.stores import fetch, named

    with ThreadPoolExecutor(1, thread_name_prefix="deltawire") as thread:
        try:
            value = thread.submit(lambda: asyncio.run(fetch(kind, name, os.environ))).result()
        except AwsError as error:
            raise DeclarationError(f"{what} is in {named(kind, name)}, {error}") from None
    if not value.strip():
        raise DeclarationError(f"{what} is in {named(kind, name)}, which is empty")
    return value
