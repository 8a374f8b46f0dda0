"""One worker, as its supervisor sees it: a process that is told to end, that says when it is ready, and that asks for
local models."""

import asyncio
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress

from deltawire.bootstrap import worker_messages as messages
from deltawire.bootstrap.worker_messages import End, Found, Missing, Ready, Wanted
from deltawire.cli.child import PROGRAM, Told
from deltawire.cli.serving import Flags
from deltawire.domain.errors import RunError
from deltawire.providers.local.process import Endpoint

Models = Callable[[str], Awaitable[Endpoint]]
"""The local model of that name, once it runs. Raises ``RunError``."""


class Worker:
    """Ends with its supervisor, however that ends; else with ``end`` or ``kill``, or by itself."""

    def __init__(
        self, process: Process, between: asyncio.StreamReader, to: asyncio.StreamWriter, models: Models
    ) -> None:
        self.pid = process.pid
        self.ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        """That it serves; it never comes where the worker ends before."""
        self.ended = asyncio.create_task(process.wait())
        """Its exit code."""
        self._process = process
        self._to = to
        self._answers: set[asyncio.Task[None]] = set()
        self._listening = asyncio.create_task(self._listen(between, models))

    @classmethod
    async def started(cls, flags: Flags, http: socket.socket | None, models: Models) -> "Worker":
        """Raises ``OSError`` where the system has no room for another process."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                told = Told(flags, None if http is None else http.fileno(), theirs.fileno())
                process = await asyncio.create_subprocess_exec(
                    *PROGRAM,
                    stdin=PIPE,
                    pass_fds=told.descriptors,
                    start_new_session=True,  # Ctrl-C is ours alone: we end the worker in order
                )
            assert process.stdin is not None
            process.stdin.write(told.line())
            between, to = await asyncio.open_unix_connection(sock=ours, limit=messages.LONGEST)
        except BaseException:
            ours.close()
            raise
        return cls(process, between, to, models)

    def end(self, *, at_once: bool) -> None:
        """As signals ask one process; nothing is under way in one that is not ready yet."""
        if self.ready.done():
            self._to.write(messages.line(End(at_once)))
        else:
            self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """What is left of it here, when it has ended."""
        for task in (self._listening, *self._answers):
            task.cancel()
        await asyncio.wait([self._listening, *self._answers])
        self._to.close()
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def _listen(self, between: asyncio.StreamReader, models: Models) -> None:
        async for said in between:
            match messages.from_worker(said):
                case Ready() as ready:
                    self.ready.set_result(ready)
                case Wanted() as wanted:
                    answer = asyncio.create_task(self._answer(wanted, models))
                    self._answers.add(answer)
                    answer.add_done_callback(self._answers.discard)

    async def _answer(self, wanted: Wanted, models: Models) -> None:
        try:
            found = await models(wanted.model)
        except RunError as error:
            answer = Missing(wanted.id, error.reason, error.message, error.retry_after, error.retry_safe)
        else:
            answer = Found(wanted.id, found.base_url, found.api_key)
        self._to.write(messages.line(answer))
