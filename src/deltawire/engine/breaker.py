"""A breaker for each model: one that fails again and again is left alone for a while, and then asked anew by one run.

Nothing is held open in it, so nothing can leak: a run that was let in and never reports back costs one ``pause``.
"""

import logging
import math
import time
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.limits import Seconds

logger = logging.getLogger("deltawire.engine")

_TIMEOUTS = frozenset({Reason.connect_timeout, Reason.first_token_timeout, Reason.idle_timeout})
_ILL = _TIMEOUTS | {
    Reason.upstream_unreachable,
    Reason.upstream_error,
    Reason.upstream_truncated,
    Reason.upstream_invalid,
    Reason.outcome_unknown,
}
"""What says that a model is ill. A caller's mistake does not, nor does a limit that a caller can set (``total``)."""

_WELL = frozenset({Reason.upstream_rejected, Reason.upstream_rate_limited, Reason.content_filter})
"""Refusals by a model's server that is up: it may be asked again."""


class BreakerSettings(BaseModel):
    """The section ``[breaker]`` of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    failures: NonNegativeInt = 5
    """After how many failures in a row, with no whole answer among them, a model is left alone. 0: never."""
    pause: Seconds = 5.0
    """Seconds until one run may ask it again."""


class Breaker:
    """What is known of one model's health."""

    __slots__ = ("_clock", "_era", "_failed_at", "_failures", "_may_ask_at", "_model", "_settings", "is_open")

    def __init__(self, model: str, settings: BreakerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._model = model
        self._settings = settings
        self._clock = clock
        self.is_open = False
        self._era = 0
        """Counts openings and closings: what was asked before the last one tells nothing about the time after it."""
        self._failures = 0
        self._failed_at = -math.inf
        self._may_ask_at = 0.0

    def admit(self) -> "Trial":
        """To be called before the model is asked. Raises ``RunError`` where it must be left alone."""
        now = self._clock()
        if self.is_open:
            if now < self._may_ask_at:
                message = f"the model '{self._model}' has failed repeatedly and is left alone for a moment"
                wait = float(math.ceil(self._may_ask_at - now))
                raise RunError(Reason.upstream_unreachable, message, retry_after=wait)
            self._may_ask_at = now + self._settings.pause  # this one asks; the others wait for what it finds
        return Trial(self, self._era, now)

    def answered(self, trial: "Trial") -> None:
        if self.is_open and trial.era == self._era:
            self._turn(to_open=False)
            logger.info("the model '%s' answers again", self._model)

    def completed(self, trial: "Trial") -> None:
        if trial.era == self._era:
            self._failures = 0

    def failed(self, trial: "Trial", reason: Reason) -> None:
        if trial.era != self._era or not self._settings.failures:
            return
        if reason in _WELL:
            self.answered(trial)
        elif reason in _ILL:
            now = self._clock()
            if self.is_open:
                self._may_ask_at = now + self._settings.pause
            # What breaks off many answers at one moment is one failure. Each silence has lasted for itself.
            elif trial.began > self._failed_at or reason in _TIMEOUTS:
                self._failures += 1
                self._failed_at = now
                if self._failures >= self._settings.failures:
                    self._turn(to_open=True)
                    self._may_ask_at = now + self._settings.pause
                    pause = f"{self._settings.pause:g} s"
                    logger.warning(
                        "the model '%s' failed %d times in a row (%s): left alone for %s",
                        *(self._model, self._settings.failures, reason.value, pause),
                    )

    def _turn(self, *, to_open: bool) -> None:
        self.is_open = to_open
        self._era += 1
        self._failures = 0


class Trial:
    """One attempt, as the breaker sees it. How it ended is reported by one of the three; without a report, it says
    nothing."""

    __slots__ = ("_breaker", "began", "era")

    def __init__(self, breaker: Breaker, era: int, began: float) -> None:
        self._breaker = breaker
        self.era = era
        self.began = began

    def answered(self) -> None:
        """The first content has come: enough to be asked by all again, not enough to be well."""
        self._breaker.answered(self)

    def completed(self) -> None:
        self._breaker.completed(self)

    def failed(self, reason: Reason) -> None:
        self._breaker.failed(self, reason)


NEVER_OPENS = Breaker("", BreakerSettings(failures=0))
