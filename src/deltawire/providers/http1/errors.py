"""What can go wrong between us and a server, told apart by what it says of the request: whether it can have begun."""


class Http1Error(Exception):
    """Any failure of this room's. Its text holds no address and no secret."""


class UnreachableError(Http1Error):
    """No connection came about: nothing was sent. The text says why, after "cannot be reached: "."""


class HeaderError(Http1Error):
    """A header of the request cannot be sent. The text names it, and not its value."""


class NoReplyError(Http1Error):
    """The connection ended before the head of a reply was whole."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__("the connection ended without a reply")
        self.silent = silent
        """Whether not one byte had come."""


class InvalidReplyError(Http1Error):
    """What came is no reply that HTTP/1.1 has for this request."""


class ContentCodingError(Http1Error):
    """The body is in a content coding that nobody here asked for, and that is not read. The text names it."""


class CutError(Http1Error):
    """The connection ended, or stopped making sense, in the middle of a body."""
