"""One line for each run, as JSON or as text."""

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Literal

import msgspec
from pydantic import BaseModel, ConfigDict

from deltawire.domain.errors import Reason
from deltawire.domain.run import RunRecord

logger = logging.getLogger("deltawire.run")


class LogSettings(BaseModel):
    """The section ``[log]`` of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["auto", "text", "json"] = "auto"
    """``auto`` is text on a terminal and JSON elsewhere."""
    level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def as_json(self) -> bool:
        return self.format == "json" or (self.format == "auto" and not sys.stderr.isatty())


def configure(settings: LogSettings, *, pid: bool = False) -> None:
    """One handler for everything, on stderr. With ``pid`` each line tells its process: for several that write to one
    place."""
    handler = logging.StreamHandler()
    handler.setFormatter(Formatter(as_json=settings.as_json, pid=os.getpid() if pid else None))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.level.upper())


class RunLog:
    """Implements ``domain.ports.Observer``."""

    def ended(self, record: RunRecord) -> None:
        level = _level(record)
        if logger.isEnabledFor(level):
            # Without a search of the stack for who logs: that is known, and would be a tenth of a line's cost.
            line = logger.makeRecord(logger.name, level, __file__, 0, "run", (), None, extra={"fields": fields(record)})
            logger.handle(line)


class Formatter(logging.Formatter):
    """Lines for a machine or for a person. A record with ``fields``, as a run's is, is told by them; another by its
    message."""

    def __init__(self, *, as_json: bool, pid: int | None = None) -> None:
        super().__init__()
        self._as_json = as_json
        self._pid = pid

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] | None = getattr(record, "fields", None)
        about: dict[str, object] = fields if fields is not None else {"message": record.getMessage()}
        trace = self.formatException(record.exc_info) if record.exc_info else None
        level = record.levelname.lower()
        if self._as_json:
            time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
            process = {} if self._pid is None else {"pid": self._pid}
            line = {"time": time, "level": level, "logger": record.name, **process, **about}
            return _json(line | ({"trace": trace} if trace else {}))
        words = " ".join(f"{name}={_word(value)}" for name, value in fields.items()) if fields else record.getMessage()
        process = "" if self._pid is None else f"[{self._pid}] "
        line = f"{self.formatTime(record, '%H:%M:%S')} {level:7} {process}{words}"
        return _visible(line + (f"\n{trace}" if trace else ""))


def fields(record: RunRecord) -> dict[str, object]:
    """What a run's line tells; what is not known is left out. Times in seconds."""
    usage = record.usage
    told = {
        "function": record.function,
        "transport": record.transport,
        "outcome": str(record.outcome),
        "model": record.model,
        "variant": record.variant,
        "attempts": record.attempts,
        "input_tokens": usage and usage.input_tokens,
        "output_tokens": usage and usage.output_tokens,
        "first_content": _rounded(record.first_content),
        "total": _rounded(record.total),
        "message": record.message,
        "run_id": record.run_id,
    }
    return {name: value for name, value in told.items() if value is not None}


def _level(record: RunRecord) -> int:
    """A failure of ours is an error; a provider's, or a caller's mistake, a warning. That a caller left is neither."""
    if not record.failed or record.outcome is Reason.canceled:
        return logging.INFO
    return logging.ERROR if record.outcome is Reason.internal else logging.WARNING


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _word(value: object) -> str:
    """Quoted where it would not read as one word: a caller's own words must not look like fields of ours."""
    word = str(value)
    plain = word.isascii() and word.isprintable() and not any(c in word for c in ' "=')
    return word if plain and word else _json(word)


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a surrogate pair, as in a file's name that is no UTF-8
        return json.dumps(value, default=str)


def _visible(line: str) -> str:
    """What a terminal would obey, or turn around, is escaped: a traceback quotes whatever it likes."""
    if line.isascii() and line.replace("\n", "").isprintable():
        return line
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in line)
