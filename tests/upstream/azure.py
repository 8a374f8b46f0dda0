"""What Azure says besides: filter results as chunks of their own and beside chunks, and refusals with details."""

from tests.upstream.openai import error_reply, event
from tests.upstream.script import Step

SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


def prompt_results() -> Step:
    """The first chunk of the preview versions: no choice, empty id and model."""
    results = [{"prompt_index": 0, "content_filter_results": SAFE}]
    return event({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": results})


def annotation(*, finish_reason: str | None = None, **verdicts: object) -> Step:
    """Results of the asynchronous filter for text that was sent before: a choice without a delta."""
    offsets = {"check_offset": 44, "start_offset": 44, "end_offset": 198}
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "content_filter_results": {**SAFE, **verdicts},
        "content_filter_offsets": offsets,
    }
    return event({"id": "", "object": "", "created": 0, "model": "", "choices": [choice], "usage": None})


def annotated_text(content: str) -> Step:
    """A piece with its results beside it, as the default filter sends it."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None, "content_filter_results": SAFE}
    return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [choice]})


def filter_failure(content: str) -> Step:
    """A piece that the filter could not look at."""
    failed = {"error": {"code": "content_filter_error", "message": "The contents are not filtered"}}
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None, "content_filter_results": failed}
    return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [choice]})


def filtered_prompt(*categories: str) -> Step:
    """The refusal of a prompt, as Azure sends it."""
    verdicts = {**SAFE, **{name: {"filtered": True, "severity": "high"} for name in categories}}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": verdicts}
    return error_reply(400, "The response was filtered", code="content_filter", param="prompt", innererror=inner)


def no_deployment() -> Step:
    return error_reply(404, "The API deployment for this resource does not exist.", code="DeploymentNotFound")
