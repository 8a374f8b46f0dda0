"""A caller's socket that counts what is written to it, so that it can be told how much of that the caller has taken."""

import asyncio
import socket
import struct
import sys
from typing import cast

_RESET_ON_CLOSE = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


class CountedTransport:
    """What uvicorn uses of a transport. Its system's own buffers belong to the caller: what is in them is taken."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._write = transport.write
        self._transport = transport
        self.written = 0
        self.abort = transport.abort
        self.can_write_eof = transport.can_write_eof
        self.close = transport.close
        self.get_extra_info = transport.get_extra_info
        self.get_write_buffer_size = transport.get_write_buffer_size
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.set_protocol = transport.set_protocol
        self.write_eof = transport.write_eof

    def write(self, data: bytes) -> None:
        self.written += len(data)
        self._write(data)

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
