"""The calls under way: each plays a run, and ends it when its caller leaves.

A run is a task of its own beside the call's task. gRPC cancels the latter when the caller leaves, when the call's
deadline is over, and when the server ends; what that means for the run is decided here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from grpc import aio

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.events import Error
from deltawire.engine.admission import cut_short
from deltawire.engine.engine import Engine, Run
from deltawire.transports.grpc.reply import SAME_MOMENT, Context, Reply
from deltawire.transports.grpc.settings import GrpcSettings

_T = TypeVar("_T")

Play = Callable[[Run, Reply, float | None], Awaitable[_T | Error]]
"""Plays a run into a reply, within the caller's own deadline in seconds."""

_AHEAD = 0.02
"""Seconds by which a run ends before its caller's deadline: when that is over, gRPC itself ends the call, with a status
that holds no details, which a caller behind a proxy would get to see."""

logger = logging.getLogger("deltawire")


class Calls:
    """Those that run a function."""

    def __init__(self, engine: Engine, settings: GrpcSettings) -> None:
        self._engine = engine
        self._write_timeout = settings.write_timeout
        self._under_way: dict[asyncio.Task[object], Run] = {}
        self.come = 0
        """How many there have been in all."""

    def __len__(self) -> int:
        return len(self._under_way)

    async def serve(self, context: Context, play: Play[_T]) -> _T:
        """The call's answer; a failure has been sent as its status when this raises."""
        run = self._engine.arrive("grpc")
        reply = Reply(context, run, self._write_timeout)
        call = asyncio.current_task()
        assert call is not None
        self._under_way[call] = run
        self.come += 1
        call.add_done_callback(self._under_way.pop)  # not before gRPC has sent the answer or the status
        try:
            outcome = await self._outcome(context, run, reply, play)
            if isinstance(outcome, Error):
                await reply.fail(outcome)
            await reply.begin()  # an answer of nothing has an id too
        except aio.AbortError:
            raise
        except aio.BaseError:  # the call is gone, and gRPC is about to tell us so
            raise asyncio.CancelledError from None
        finally:
            reply.close()
        return outcome

    async def ended(self) -> None:
        """Wait for the end of every call."""
        while self._under_way:
            await asyncio.wait([*self._under_way])

    def end(self) -> None:
        """Each caller is told that the server ends."""
        for run in self._under_way.values():
            run.stop(cut_short())

    async def _outcome(self, context: Context, run: Run, reply: Reply, play: Play[_T]) -> _T | Error:
        playing = asyncio.ensure_future(play(run, reply, _deadline(context)))
        try:
            return await asyncio.shield(playing)
        except asyncio.CancelledError:
            if reply.unread is not None:
                return run.refuse(reply.unread)
            if _is_over(context):  # so is the run's own deadline, which ends it by its name
                await asyncio.wait([playing], timeout=2 * SAME_MOMENT)
            run.cancel()
            if reply.writing:
                playing.cancel()
            await asyncio.wait([playing])
            _ = playing.cancelled() or playing.exception()  # whatever it is, nobody is there to be told
            raise
        except aio.BaseError:
            raise
        except Exception:
            logger.exception("run %s failed", run.id)
            return run.refuse(RunError(Reason.internal, "the server failed; its log tells more under this run_id"))


def _deadline(context: Context) -> float | None:
    remaining = _remaining(context)
    return None if remaining is None else remaining - min(_AHEAD, remaining / 10)


def _is_over(context: Context) -> bool:
    remaining = _remaining(context)
    return remaining is not None and remaining <= SAME_MOMENT


def _remaining(context: Context) -> float | None:
    """Seconds until the call's own deadline. Its types do not say that it may have none."""
    return cast("float | None", context.time_remaining())
