"""The transports that exist, by the names that the page uses."""

HTTP = ["json", "sse", "ndjson", "text", "invoke", "chat", "chat_stream"]
CHAT = ["chat", "chat_stream"]
GRPC = ["grpc", "grpc_invoke"]
WEB = ["grpc_web", "grpc_web_text"]
CONNECT = ["connect", "connect_json", "connect_invoke"]
RPC = [*GRPC, *WEB, *CONNECT]
UNARY = ["grpc_invoke", "connect_invoke"]
TRANSPORTS = [*HTTP, "ws", "engine", *RPC]
GROUPS = {"HTTP": HTTP, "CHAT": CHAT, "RPC": RPC, "GRPC": GRPC, "WEB": WEB, "CONNECT": CONNECT, "UNARY": UNARY}
"""What the page calls several of them."""

OVER_HTTP = [*HTTP, *WEB, *CONNECT]
"""Those that are a request and its reply on the HTTP port."""
WHOLE = ["json", "invoke", "chat", *UNARY]
"""Those that send nothing before the outcome."""
RPC_STREAMS = [transport for transport in RPC if transport not in UNARY]
STREAMS_OVER_HTTP = [transport for transport in OVER_HTTP if transport not in WHOLE]
EVENTFUL = ["sse", "ndjson", "ws", "engine", *RPC_STREAMS]
"""Those on which a caller sees the events of a run."""

MEDIA = {
    "grpc_web": "application/grpc-web+proto",
    "grpc_web_text": "application/grpc-web-text",
    "connect": "application/connect+proto",
    "connect_json": "application/connect+json",
    "connect_invoke": "application/json",
}

ACCEPT = {
    "json": "application/json",
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "text": "text/plain",
}
