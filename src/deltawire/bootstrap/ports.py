"""The ports that are served on: taken, or found to be free. Failures say which flag is the way out."""

import errno
import socket
import sys

from deltawire.domain.errors import DeclarationError

_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises ``DeclarationError`` where somebody else has the port, or the host is not ours."""
    bound = _bound(host, port, "--port")
    bound.listen(_BACKLOG)
    return bound


def must_be_free(host: str, port: int) -> None:
    """For gRPC, which binds its port itself and cannot say why it did not. Raises ``DeclarationError``."""
    _bound(host, port, "--grpc-port").close()


def reserve(host: str, port: int) -> socket.socket:
    """For gRPC in several processes, each of which binds the port by itself and shares it (SO_REUSEPORT, on Linux). The
    socket takes no calls: while it is open, nobody else gets the port. Raises ``DeclarationError``."""
    bound = _bound(host, port, "--grpc-port")  # not shared with whoever has it already, even if he would
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return bound


def _bound(host: str, port: int, flag: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":  # there it would take a port from under another server
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:  # a name that no resolver can be asked for is the latter
        bound.close()
        number, why = (error.errno, error.strerror) if isinstance(error, OSError) else (None, None)
        wrong = flag if number in (errno.EADDRINUSE, errno.EACCES) else "--host"
        reason = (why or "its name is none").lower()
        raise DeclarationError(f"cannot listen on {host}:{port}: {reason}; choose another with {wrong}") from None
    return bound
