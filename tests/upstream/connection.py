"""One accepted connection: requests flow in, the bytes of their scripts flow out."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Generator
from typing import Protocol, cast

import httptools

from tests.upstream.exchange import Exchange
from tests.upstream.request import Request, RequestReader
from tests.upstream.script import (
    Body,
    Bytewise,
    Close,
    Delay,
    End,
    Head,
    Raw,
    Repeat,
    Reset,
    Silence,
    Step,
    Steps,
    Together,
    Wait,
)

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Director(Protocol):
    """Decides what each request gets; the upstream itself."""

    def connected(self, connection: "Connection") -> int:
        """The number of this new connection."""
        ...

    def drops_reuse(self) -> bool:
        """Whether a request that comes over a used connection is to be cut off at its first byte."""
        ...

    def answer(self, request: Request) -> tuple[Exchange, tuple[Step, ...]]: ...

    def disconnected(self, connection: "Connection") -> None: ...

    def failed(self, error: BaseException) -> None:
        """Something went wrong that the test must hear of."""
        ...


class _HungUpError(Exception):
    """The script closed the connection: what stands behind is not played."""


class Connection(asyncio.Protocol):
    def __init__(self, director: Director) -> None:
        self._director = director
        self._transport: asyncio.Transport
        self._reader: RequestReader
        self._player: _Player
        self._requests: asyncio.Queue[Request] = asyncio.Queue()
        self._task: asyncio.Task[None]
        self._exchanges: list[Exchange] = []
        self.idle = True
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's transports do not inherit from it
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=0)  # a step is done when the kernel has all of its bytes
        self._transport = transport
        self._reader = RequestReader(self._director.connected(self), self._requests.put_nowait)
        self._player = _Player(transport)
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._task.add_done_callback(self._check)

    def data_received(self, data: bytes) -> None:
        if self.idle and self._exchanges and self._director.drops_reuse():
            self._player.reset()
            return
        self.idle = False
        try:
            self._reader.feed(data)
        except httptools.HttpParserError as error:
            self._director.failed(AssertionError(f"something came that is no HTTP: {error}: {data[:80]!r}"))
            self.close()

    def eof_received(self) -> bool:
        self._note_gone(by_client=True)
        return False  # the transport closes itself

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the name is the base class's)
        self._note_gone(by_client=not self._player.hung_up)
        self._player.resume()
        self._task.cancel()
        self._director.disconnected(self)
        self.lost.set()

    def pause_writing(self) -> None:
        self._player.pause()

    def resume_writing(self) -> None:
        self._player.resume()

    def close(self) -> None:
        """A clean close from our side."""
        self._player.hung_up = True
        self._transport.close()

    async def abandon(self) -> None:
        """End the connection and its script at once, whatever it is doing."""
        self._player.hung_up = True
        self._transport.abort()
        self._task.cancel()
        await asyncio.wait([self._task])
        await self.lost.wait()

    async def _serve(self) -> None:
        while True:
            request = await self._requests.get()
            exchange, steps = self._director.answer(request)
            self._exchanges.append(exchange)
            try:
                await self._player.play(steps, exchange, keep_alive=request.keep_alive)
            except _HungUpError:
                exchange.note_gone(by_client=False)
                exchange.note_played()
                return
            self.idle = self._requests.empty()
            exchange.note_played()

    def _check(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a mistake in the test's script or in the function that makes it
            self._director.failed(error)
            self._transport.abort()

    def _note_gone(self, *, by_client: bool) -> None:
        for exchange in self._exchanges:
            exchange.note_gone(by_client=by_client)


class _Player:
    """Turns steps into sends on one transport."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable = asyncio.Event()
        self._writable.set()
        self._exchange: Exchange
        self._head: Head | None = None
        self._bytewise = False
        self._gathered: bytearray | None = None
        self.hung_up = False

    async def play(self, steps: tuple[Step, ...], exchange: Exchange, *, keep_alive: bool) -> None:
        self._exchange = exchange
        self._head = None
        for step in steps:
            await self._play(step)
        await self._end()
        if not keep_alive:
            self._hang_up()

    def pause(self) -> None:
        self._writable.clear()

    def resume(self) -> None:
        self._writable.set()

    def reset(self) -> None:
        self.hung_up = True
        with contextlib.suppress(OSError):  # already closed by the client
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._transport.abort()

    async def _play(self, step: Step) -> None:
        match step:
            case Head(data):
                self._head = step
                await self._send(data)
            case Body(data):
                await self._send(self._framed(data))
            case Raw(data):
                await self._send(data)
            case End():
                await self._end()
            case Close():
                self._hang_up()
            case Reset():
                self.reset()
                raise _HungUpError
            case Silence():
                await asyncio.Event().wait()
            case Wait(gate):
                await gate.pass_through()
            case Delay(seconds):
                await asyncio.sleep(seconds)
            case _:
                await self._play_several(step)

    async def _play_several(self, step: Repeat | Bytewise | Together | Steps) -> None:
        match step:
            case Repeat(repeated, times):
                played = 0
                while times is None or played < times:
                    await self._play(repeated)
                    played += 1
            case Steps(steps):
                for each in steps:
                    await self._play(each)
            case Bytewise(steps):
                with self._byte_by_byte():
                    for each in steps:
                        await self._play(each)
            case Together(steps):
                self._gathered = gathered = bytearray()
                for each in steps:
                    await self._play(each)
                self._gathered = None
                await self._send(bytes(gathered))

    def _framed(self, data: bytes) -> bytes:
        if self._head is not None and self._head.chunked and data:
            return b"%x\r\n%b\r\n" % (len(data), data)
        return data

    async def _end(self) -> None:
        head, self._head = self._head, None
        if head is not None and head.chunked:
            await self._send(b"0\r\n\r\n")
        elif head is not None and head.until_close:
            self._hang_up()

    def _hang_up(self) -> None:
        self.hung_up = True
        self._transport.close()
        raise _HungUpError

    @contextlib.contextmanager
    def _byte_by_byte(self) -> Generator[None]:
        before, self._bytewise = self._bytewise, True
        try:
            yield
        finally:
            self._bytewise = before

    async def _send(self, data: bytes) -> None:
        if self._gathered is not None:
            self._gathered += data
        elif self._bytewise:
            for position in range(len(data)):
                await self._send_at_once(data[position : position + 1])
        else:
            await self._send_at_once(data)

    async def _send_at_once(self, data: bytes) -> None:
        # Without these turns of the loop a reader in the same loop would find several sends in one read. They come
        # before a send, so that nothing is left to do when the last byte of a reply is out.
        if self._exchange.sent:
            for _ in range(3):
                await asyncio.sleep(0)
        self._transport.write(data)
        await self._writable.wait()
        self._exchange.note_sent(len(data))
