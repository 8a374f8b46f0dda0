"""The request body of one attempt: ``POST /chat/completions`` (OpenAI API reference, "Create chat completion")."""

import msgspec

from deltawire.domain.errors import Reason, RunError
from deltawire.domain.ports import Attempt
from deltawire.providers.openai.strict_schema import StrictSchema
from deltawire.providers.openai.wire import Wire


def request_body(attempt: Attempt, schema: StrictSchema | None, wire: Wire) -> bytes:
    """JSON bytes. Always a stream: limits are measured on it, and a caller who leaves stops it."""
    body: dict[str, object] = {
        "model": attempt.model,
        "messages": [{"role": message.role, "content": message.content} for message in attempt.messages],
        "stream": True,
    }
    if wire.counts_streams:
        body["stream_options"] = {"include_usage": True}
    if attempt.max_tokens is not None:
        body[wire.max_tokens_field] = attempt.max_tokens
    if attempt.temperature is not None:
        body["temperature"] = attempt.temperature
    if attempt.seed is not None:
        body["seed"] = attempt.seed
    if attempt.output is not None and schema is not None:
        match wire.structured_output:
            case "json_schema":
                described = {"name": attempt.output.name, "schema": schema.schema, "strict": schema.strict}
                body["response_format"] = {"type": "json_schema", "json_schema": described}
            case "json_object":
                body["response_format"] = {"type": "json_object"}
            case "none":
                pass
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        raise RunError(
            Reason.invalid_input, "the prompt holds half of a surrogate pair, which no JSON can carry"
        ) from None
