"""The limits of a run, in seconds."""

from pydantic import BaseModel, ConfigDict, PositiveFloat


class Timeouts(BaseModel):
    """How long a run may wait. Each limit has its own error, so that the one that fired is known.

    ``connect``: from the start of opening a connection until it stands. ``first_token``: from the start of an attempt
    until its first content. ``idle``: between two signs of life of the provider, once there was content. ``total``:
    the whole run, from its arrival; a caller's own ``timeout`` can only lower it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect: PositiveFloat = 5.0
    first_token: PositiveFloat = 60.0
    idle: PositiveFloat = 30.0
    total: PositiveFloat = 300.0
