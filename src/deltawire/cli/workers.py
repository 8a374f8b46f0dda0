"""``deltawire serve --workers``: several processes that serve on the same ports, and this one, which watches over them.

It holds HTTP's listening socket, from which all workers take connections, and the port that gRPC shares. A worker that
dies takes only its own runs with it and is replaced; the local model is this process's own, and all workers use it. It
loads neither the app nor a server: whatever a run can break is in a worker. These are told to end over a socket, since
an init system sends its signals to each of them as well.
"""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from deltawire.bootstrap import ports
from deltawire.bootstrap.worker_messages import Ready
from deltawire.cli.app import app_of
from deltawire.cli.banner import announce
from deltawire.cli.serving import Flags, listen
from deltawire.cli.terminal import complain
from deltawire.cli.worker import Worker
from deltawire.domain.errors import DeclarationError
from deltawire.observers import log
from deltawire.providers.local.process import Endpoint, LocalModel, how_ended
from deltawire.settings import Settings

logger = logging.getLogger("deltawire")

_SOON = 5.0
"""Seconds from when a worker is ready. One that dies before is not replaced at once a second time in a row."""
_LONGEST_PAUSE = 30.0
_LAST = 1.4
"""Seconds that a worker gets to end beyond what its runs get: less than the two that are promised for all of it."""


def serve_with_workers(flags: Flags, settings: Settings) -> int:
    """Serve until Ctrl-C or SIGTERM; returns the exit code. Raises ``DeclarationError`` for settings that cannot work.
    What is wrong with the app is told by the first worker."""
    if sys.platform != "linux":
        raise DeclarationError("--workers needs Linux, which divides the calls on one port among them: leave it out")
    app_of(settings, "serve shop.py --workers 2")
    log.configure(settings.log, pid=True)
    # All workers serve where the first one does, whatever becomes of the file meanwhile.
    places = {"host": settings.host, "port": str(settings.port), "grpc_port": str(settings.grpc_port)}
    with ExitStack() as open_:
        http = listen(settings)
        if http is not None:
            open_.enter_context(http)
        if settings.grpc_port:
            open_.enter_context(ports.reserve(settings.host, settings.grpc_port))
        return asyncio.run(_Workers(replace(flags, **places), settings, http).serve())


class _Workers:
    def __init__(self, flags: Flags, settings: Settings, http: socket.socket | None) -> None:
        self._flags = flags
        self._settings = settings
        self._http = http
        self._models: dict[str, LocalModel] = {}
        self._living: set[Worker] = set()
        self._to_come = settings.workers
        """How many places have not had a worker that was ready; all have when the server is announced."""
        self._asked = asyncio.Event()
        self._at_once = asyncio.Event()

    async def serve(self) -> int:
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signum, self._stop)
        asked = asyncio.create_task(self._asked.wait())
        try:
            first = await self._first()
            # Alone: what is wrong with the app is then said once.
            await _any([first.ready, first.ended, asked])
            if asked.done():
                return 0
            if not first.ready.done():
                return _failed(first.ended.result())
            keeping = [asyncio.create_task(self._keep(first))]
            keeping += [asyncio.create_task(self._keep(None)) for _ in range(self._settings.workers - 1)]
            await _any([asked, *keeping])
            for keeper in keeping:
                keeper.cancel()
            for ended in await asyncio.gather(*keeping, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
            return 0
        finally:
            asked.cancel()
            await self._end()

    def _stop(self) -> None:
        if self._asked.is_set():
            self._at_once.set()
        self._asked.set()

    async def _first(self) -> Worker:
        try:
            return await self._started()
        except OSError as error:
            raise DeclarationError(f"cannot start a worker: {(error.strerror or str(error)).lower()}") from error

    async def _started(self) -> Worker:
        worker = await Worker.started(self._flags, self._http, self._model)
        self._living.add(worker)
        return worker

    async def _model(self, name: str) -> Endpoint:
        if name not in self._models:
            self._models[name] = LocalModel(self._settings.local, logger.info, name)
        return await self._models[name].ready()

    async def _keep(self, worker: Worker | None) -> None:
        """One place, in which there is always a worker: each that ends is followed by another. Ends when cancelled."""
        came_up, quick_ends = False, 0
        while True:
            try:
                worker = worker or await self._started()
            except OSError as error:
                lived, what = False, f"a worker cannot be started ({error.strerror})"
            else:
                await _any([worker.ready, worker.ended])
                if worker.ready.done() and not came_up:
                    came_up = True
                    self._came_up(worker.ready.result())
                lived = await _lived(worker)
                what = f"worker {worker.pid} ended ({how_ended(worker.ended.result())})"
                self._living.discard(worker)
                await worker.close()
            worker = None
            quick_ends = 0 if lived else quick_ends + 1
            pause = min(2.0 ** (quick_ends - 2), _LONGEST_PAUSE) if quick_ends > 1 else 0.0
            logger.error("%s; another is started %s", what, f"in {pause:g} s" if pause else "now")
            await asyncio.sleep(pause)

    def _came_up(self, ready: Ready) -> None:
        self._to_come -= 1
        if not self._to_come:
            announce(ready.functions, ready.banner, self._settings)

    async def _end(self) -> None:
        """In order, unless that is asked for a second time; nobody is left in the end, not even the model."""
        if self._http is not None:
            self._http.close()  # else calls that no worker takes would wait for one
        everyone = asyncio.gather(*(worker.ended for worker in self._living))
        at_once = asyncio.create_task(self._at_once.wait())
        for worker in self._living:
            worker.end(at_once=False)
        await _any([everyone, at_once], self._settings.drain_delay + self._settings.drain_timeout + _LAST)
        if at_once.done() and not everyone.done():
            for worker in self._living:
                worker.end(at_once=True)
            await _any([everyone], _LAST)
        for worker in self._living:
            if not worker.ended.done():
                logger.error("worker %d does not end: it is killed, with the calls that it has", worker.pid)
                worker.kill()
            elif worker.ready.done() and (code := worker.ended.result()):
                logger.error("worker %d ended before its calls did (%s)", worker.pid, how_ended(code))
        await everyone
        at_once.cancel()
        for worker in self._living:
            await worker.close()
        for model in self._models.values():
            await model.close()


async def _lived(worker: Worker) -> bool:
    """Wait for its end; whether it served for a while before."""
    began = asyncio.get_running_loop().time()
    was_ready = worker.ready.done()
    await _any([worker.ended])
    return was_ready and asyncio.get_running_loop().time() - began >= _SOON


async def _any(waiting: Sequence["asyncio.Future[Any]"], seconds: float | None = None) -> None:
    await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def _failed(code: int) -> int:
    """The first worker did not come up. One that ended with a code has said why; returns the exit code."""
    if code < 0:
        complain(f"the first worker ended before it was ready ({how_ended(code)})")
        return 128 - code
    return code
