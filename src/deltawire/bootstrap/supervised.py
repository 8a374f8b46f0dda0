"""A worker's side of its supervisor: what it is told by it, and what it asks for.

In: the socket between the two. Out: the end that is asked for, and the local models, which all workers share.
"""

import asyncio
import itertools
import socket
from collections.abc import Sequence

from deltawire.bootstrap import worker_messages as messages
from deltawire.bootstrap.shutdown import Stop
from deltawire.bootstrap.worker_messages import End, Found, Missing, Ready, Wanted
from deltawire.domain.errors import Reason, RunError
from deltawire.providers.local.process import Endpoint


class Supervisor:
    """As a worker sees it. Made before the event loop that it is then used in, from ``listen`` to ``close``."""

    def __init__(self, between: socket.socket) -> None:
        self._between = between
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Endpoint]] = {}

    async def listen(self, stop: Stop) -> None:
        """From here on it is heard: when it asks for the end, ``stop`` is told."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._between)
        self._listening = asyncio.create_task(self._listen(reader, stop))

    def ready(self, functions: Sequence[str], banner: str) -> None:
        """Tell it that calls are accepted, and what it may show of us."""
        self._say(Ready([*functions], banner))

    def model(self, name: str) -> "SharedModel":
        return SharedModel(self, name)

    async def endpoint(self, model: str) -> Endpoint:
        """Where the local model listens, once it has started. Raises the ``RunError`` that its owner met."""
        number, answer = next(self._ids), asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._say(Wanted(number, model))
            return await answer
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})
        if self._writer is not None:
            self._writer.close()

    def _say(self, message: messages.FromWorker) -> None:
        assert self._writer is not None
        self._writer.write(messages.line(message))

    async def _listen(self, reader: asyncio.StreamReader, stop: Stop) -> None:
        """To its end; then the supervisor is gone, and so are we in a moment."""
        async for said in reader:
            match messages.from_supervisor(said):
                case End(at_once=at_once):
                    stop.asked.set()
                    if at_once:
                        stop.at_once.set()
                case Found(id=number, base_url=url, api_key=key):
                    if answer := self._answer(number):
                        answer.set_result(Endpoint(url, key))
                case Missing() as missing:
                    if answer := self._answer(missing.id):
                        answer.set_exception(_error(missing))

    def _answer(self, number: int) -> "asyncio.Future[Endpoint] | None":
        """Who asked, if he still waits: a run that was canceled does not."""
        answer = self._waiting.get(number)
        return None if answer is None or answer.done() else answer


class SharedModel:
    """Implements ``providers.local.provider.Model``: the process is the supervisor's, which starts it when it is first
    needed by anybody, and ends it."""

    def __init__(self, supervisor: Supervisor, name: str) -> None:
        self._supervisor = supervisor
        self._name = name

    async def ready(self) -> Endpoint:
        return await self._supervisor.endpoint(self._name)

    async def close(self) -> None:
        """It goes on for the others."""


def _error(missing: Missing) -> RunError:
    return RunError(
        Reason(missing.reason), missing.message, retry_after=missing.retry_after, retry_safe=missing.retry_safe
    )
