"""A caller on a WebSocket at ``/v1/ws``: one run after another on a socket that is kept."""

from time import perf_counter

import msgspec
from msgspec import Raw
from typing_extensions import override
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from deltawire.callers import failures
from deltawire.callers.answer import Answer, Call, CallFailedError
from deltawire.callers.deployment import Deployment, between
from deltawire.callers.http import settings_of
from deltawire.callers.readers import EventReader
from deltawire.providers.http1.dialing import tls

_DIAL_SECONDS = 10.0
_LARGEST = 64 * 1024 * 1024


class _Counting(ClientConnection):
    received = 0

    @override
    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)


class WebSocketCaller:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._socket: _Counting | None = None

    async def call(self, call: Call, answer: Answer) -> None:
        socket = self._socket or await self._dialed(answer)
        try:
            await self._run(socket, call, answer)
            self._socket = socket
        except ConnectionClosed as error:
            self._socket = None
            raise CallFailedError("cut", f"the WebSocket was closed: {_close(error)}") from error
        except CallFailedError:
            self._socket = socket  # no run's failure closes it
            raise
        except BaseException:
            self._socket = None
            socket.transport.abort()
            raise

    async def close(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def _run(self, socket: _Counting, call: Call, answer: Answer) -> None:
        reader, before = EventReader(), socket.received
        message = {"type": "run", "id": "1", "function": call.function, "input": Raw(call.input), **settings_of(call)}
        answer.sent = perf_counter()
        await socket.send(msgspec.json.encode(message), text=True)
        try:
            while not reader.over:
                event = await socket.recv(decode=False)
                now = perf_counter()
                if reader.event(event):
                    answer.pieces.append(now)
        finally:
            answer.received = socket.received - before
        answer.ended, answer.tokens = perf_counter(), reader.tokens

    async def _dialed(self, answer: Answer) -> _Counting:
        to = self._deployment
        headers = dict(to.headers)
        if to.origin.authorization is not None:
            headers.setdefault("authorization", to.origin.authorization)
        url = f"{'wss' if to.origin.tls else 'ws'}://{to.authority}{to.origin.target('/v1/ws')}"
        began = perf_counter()
        try:
            # Not compressed: it would hide what a piece takes on this wire. A proxy in the environment is not asked.
            socket = await connect(
                url,
                additional_headers=headers,
                subprotocols=[Subprotocol("deltawire.v1")],
                compression=None,
                proxy=None,
                ssl=tls() if to.origin.tls else None,
                open_timeout=_DIAL_SECONDS,
                close_timeout=1,
                max_size=_LARGEST,
                create_connection=_Counting,
            )
        except InvalidStatus as error:
            said = {name.lower(): value for name, value in error.response.headers.raw_items()}
            raise failures.from_status(error.response.status_code, said, bytes(error.response.body)) from error
        except TimeoutError as error:
            message = f"no WebSocket within {_DIAL_SECONDS:g} s: does a proxy on the way pass on 'Upgrade'?"
            raise CallFailedError("unreachable", message) from error
        except (InvalidMessage, InvalidHandshake, InvalidURI, OSError) as error:
            raise _not_opened(error) from error
        assert isinstance(socket, _Counting)
        answer.dialing = perf_counter() - began
        if socket.response is not None:
            answer.between = between({name.lower(): value for name, value in socket.response.headers.raw_items()})
        return socket


def _not_opened(error: Exception) -> CallFailedError:
    if isinstance(error, OSError):
        return failures.from_connection(error)
    if isinstance(error.__cause__, OSError):
        return failures.from_connection(error.__cause__)
    return CallFailedError("no_websocket", f"no WebSocket came about: {error}")


def _close(error: ConnectionClosed) -> str:
    if error.rcvd is not None:
        return f"{error.rcvd.code} {error.rcvd.reason}".strip()
    if error.sent is not None:
        return f"by us, {error.sent.reason or error.sent.code}"  # pings that nobody answers
    return "without a close frame; something on the way has cut it"
