"""All fuzz targets by name."""

from tests.fuzz import envelopes, http1, json_answer, reply, requests, sse_reader
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    "sse_reader": sse_reader.TARGET,
    "reply": reply.TARGET,
    "http1": http1.TARGET,
    "json_answer": json_answer.TARGET,
    "envelopes": envelopes.TARGET,
    "requests": requests.TARGET,
}
