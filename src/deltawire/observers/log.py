"""One line for each run, as JSON or as text."""

import json
import logging
import os
import sys
import threading
import time
from datetime import UTC, datetime
from functools import lru_cache
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
            line = logging.LogRecord.__new__(logging.LogRecord)
            line.__dict__.update(_same_in_each_line(level, os.getpid(), threading.get_ident()))
            line.created = now = time.time()
            line.msecs = now % 1 * 1000
            line.fields = fields(record)
            logger.handle(line)


@lru_cache(maxsize=32)
def _same_in_each_line(level: int, process: int, thread: int) -> dict[str, object]:  # noqa: ARG001 - whose lines they are
    """What a record knows of who logs and where. It is found out once, for it takes as long as all the rest."""
    return logger.makeRecord(logger.name, level, __file__, 0, "run", (), None).__dict__


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
            at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
            process = {} if self._pid is None else {"pid": self._pid}
            line = {"time": at, "level": level, "logger": record.name, **process, **about}
            return _json(line | ({"trace": trace} if trace else {}))
        words = " ".join(f"{name}={_word(value)}" for name, value in fields.items()) if fields else record.getMessage()
        process = "" if self._pid is None else f"[{self._pid}] "
        line = f"{self.formatTime(record, '%H:%M:%S')} {level:7} {process}{words}"
        return _visible(line + (f"\n{trace}" if trace else ""))


def fields(record: RunRecord) -> dict[str, object]:
    """What a run's line tells; what is not known is left out. Times in seconds."""
    told: dict[str, object] = {}
    if record.function is not None:
        told["function"] = record.function
    told["transport"] = record.transport
    told["outcome"] = str(record.outcome)
    if record.model is not None:
        told["model"] = record.model
    if record.variant is not None:
        told["variant"] = record.variant
    told["attempts"] = record.attempts
    if record.usage is not None:
        told["input_tokens"], told["output_tokens"] = record.usage.input_tokens, record.usage.output_tokens
    if record.first_content is not None:
        told["first_content"] = round(record.first_content, 4)
    told["total"] = round(record.total, 4)
    if record.message is not None:
        told["message"] = record.message
    told["run_id"] = record.run_id
    return told


def _level(record: RunRecord) -> int:
    """A failure of ours is an error; a provider's, or a caller's mistake, a warning. That a caller left is neither."""
    if not record.failed or record.outcome is Reason.canceled:
        return logging.INFO
    return logging.ERROR if record.outcome is Reason.internal else logging.WARNING


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
