"""The transports that exist, by the names that the page uses."""

HTTP = ["json", "sse", "ndjson", "text", "invoke"]
STREAMS = ["sse", "ndjson", "text"]
TRANSPORTS = [*HTTP, "ws", "engine"]

ACCEPT = {
    "json": "application/json",
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "text": "text/plain",
}
