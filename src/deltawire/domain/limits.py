"""The limits of a run, in seconds."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
"""A time that a clock can reach: no number is infinite in JSON, nor to a timer."""

SecondsOrZero = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]

UNREAD_GRACE = 1.0
"""How long a run whose ``total`` is over may still wait for its caller to read, on every wire."""


class Timeouts(BaseModel):
    """How long a run may wait. Each limit has its own error, so that the one that fired is known.

    ``connect``: from the start of opening a connection until it stands. ``first_token``: from the start of an attempt
    until its first content. ``idle``: between two signs of life of the provider, once there was content. ``total``:
    the whole run, from its arrival; a caller's own ``timeout`` can only lower it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect: Seconds = 5.0
    first_token: Seconds = 60.0
    idle: Seconds = 30.0
    total: Seconds = 300.0
