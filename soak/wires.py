"""The wires of the soak: those of the transport matrix, and the older streaming chat's."""

from tests.matrix.transports import GRPC, HTTP, OVER_HTTP, RPC, STREAMS_OVER_HTTP

ARTICLE = ("article", "article_ws", "article_grpc")
BY_HTTP = (*OVER_HTTP, "article")
SOCKETS = ("ws", "article_ws")
BY_GRPC = (*GRPC, "article_grpc")
NAMED = (*HTTP, "ws", *RPC)
"""Those on which a caller names the function."""
ALL = (*NAMED, *ARTICLE)
STREAMS = (*STREAMS_OVER_HTTP, "article", *SOCKETS, "grpc", "article_grpc")
HELD = tuple(wire for wire in STREAMS if wire not in ("text", *SOCKETS))
"""The streams whose status goes out, with signs of life, before there is content."""
TYPED = tuple(wire for wire in NAMED if wire not in ("text", "chat", "chat_stream"))
"""Where the value of a typed answer is a member of a reply."""
