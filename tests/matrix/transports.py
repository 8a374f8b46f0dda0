"""The transports that exist, by the names that the page uses."""

HTTP = ["json", "sse", "ndjson", "text", "invoke", "chat", "chat_stream"]
STREAMS = ["sse", "ndjson", "text", "chat_stream"]
CHAT = ["chat", "chat_stream"]
TRANSPORTS = [*HTTP, "ws", "engine"]
GROUPS = {"HTTP": HTTP, "CHAT": CHAT}
"""What the page calls several of them."""

ACCEPT = {
    "json": "application/json",
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "text": "text/plain",
}
