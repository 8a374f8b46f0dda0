"""A caller's socket that counts what is written to it, so that it can be told how much of that the caller has taken."""

import asyncio
import socket
import struct
import sys
from typing import Any, cast

_RESET_ON_CLOSE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


class CountedTransport:
    """What uvicorn uses of a transport. Its system's own buffers belong to the caller: what is in them is taken."""

    __slots__ = ("_transport", "written")  # there is one for each connection: bound methods would be a kilobyte

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.written = 0

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._transport.write(data)

    def abort(self) -> None:
        self._transport.abort()

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def close(self) -> None:
        self._transport.close()

    def get_extra_info(self, name: str, default: object = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def write_eof(self) -> None:
        self._transport.write_eof()

    def taken(self) -> int | None:
        """Bytes; ``None`` when everything is taken."""
        unsent = self.get_write_buffer_size()
        return self.written - unsent if unsent else None

    def reset(self) -> None:
        """Close without a goodbye, so that the system forgets what it holds for the caller, too."""
        cast("socket.socket", self.get_extra_info("socket")).setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE
        )
        self.abort()
