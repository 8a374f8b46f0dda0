"""The schemas that every function shares: the wire's own shapes, as ``domain`` and ``codec`` write and read them."""

from collections.abc import Iterable

from deltawire.domain.errors import Code, Reason
from deltawire.domain.events import FinishReason
from deltawire.domain.run import MAX_SEED, MAX_TOKENS
from deltawire.transports.http.openapi.components import Components, Schema

RUN_ID: Schema = {"type": "string", "format": "uuid", "description": "The run's id, as it is in the log."}


class Shared:
    """References to them, which are components."""

    def __init__(self, components: Components) -> None:
        self.problems: Schema = {}
        """Responses with a problem, by their names: operations that fail alike share them."""
        self.usage = components.add("Usage", _USAGE)
        self.settings = components.add("RunSettings", _SETTINGS)
        self.problem = components.add("Problem", _PROBLEM)
        self.started = components.add("Started", _STARTED)
        self.text = components.add("Text", _piece("text", "A piece of the answer."))
        self.reasoning = components.add("Reasoning", _piece("reasoning", "A piece of the model's reasoning."))
        self.error = components.add("Error", _ERROR)
        self.description = components.add("FunctionDescription", _DESCRIPTION)
        self.listing = components.add("FunctionList", _listing(self.description))
        self.text_output = components.add("TextOutput", _strict_object({"text": {"type": "string"}}))


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def run_members(shared: Shared, variants: Iterable[str]) -> Schema:
    """What a run request may hold beside its input. ``variant`` is for functions that have any."""
    named = {"enum": [*variants, None], "description": "The variant to run, by its name."}
    return {
        "user": {"type": ["string", "null"], "description": "An opaque name of the end user."},
        **({"variant": named} if any(variants) else {}),
        "settings": shared.settings,
        "timeout": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "description": "Seconds for the whole run. A value above the function's own limit is lowered to it.",
        },
    }


def finished(shared: Shared, output: Schema, reasons: list[str]) -> Schema:
    """The terminal event of a run that succeeded, and the body of a plain JSON reply."""
    return _object(
        {
            "type": {"type": "string", "const": "finished"},
            "run_id": RUN_ID,
            "output": output,
            "finish_reason": {"type": "string", "enum": reasons, "description": "Why the model stopped."},
            "usage": nullable(shared.usage),
            "attempts": {"type": "integer", "minimum": 1, "description": "Tries at a provider, this one included."},
        }
    )


def status(value: str) -> Schema:
    return _object({"status": {"type": "string", "const": value}})


def _object(properties: Schema, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _strict_object(properties: Schema, optional: tuple[str, ...] = ()) -> Schema:
    return {**_object(properties, optional), "additionalProperties": False}


def _piece(kind: str, description: str) -> Schema:
    text = {"type": "string", "minLength": 1}
    return {**_object({"type": {"type": "string", "const": kind}, "text": text}), "description": description}


def _listing(description: Schema) -> Schema:
    return _object({"functions": {"type": "array", "items": description}})


_ANY_SCHEMA: Schema = {
    "type": "object",
    "additionalProperties": True,
    "description": "A JSON Schema (draft 2020-12).",
}
_DESCRIPTION: Schema = _object(
    {"name": {"type": "string"}, "description": {"type": "string"}, "input": _ANY_SCHEMA, "output": _ANY_SCHEMA}
)
_COUNT: Schema = {"type": "integer", "minimum": 0}
_CODE: Schema = {"type": "string", "enum": [code.value for code in Code], "description": "A canonical gRPC code."}
_REASON: Schema = {
    "type": "string",
    "enum": [reason.value for reason in Reason],
    "description": "Why the run failed: a closed list.",
}
_RETRY_AFTER: Schema = {
    "type": "number",
    "minimum": 0,
    "description": "Seconds after which the call may succeed, where they are known.",
}
_PARTIAL: Schema = {"type": "boolean", "description": "Whether there was content before the failure."}

_USAGE: Schema = {
    **_object({"input_tokens": _COUNT, "output_tokens": _COUNT}),
    "description": "What the provider counted, in tokens.",
}

_SETTINGS: Schema = {
    **_strict_object(
        {
            "max_tokens": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_TOKENS},
            "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 2},
            "seed": {"type": ["integer", "null"], "minimum": -MAX_SEED, "maximum": MAX_SEED},
        },
        optional=("max_tokens", "temperature", "seed"),
    ),
    "description": "What a caller may choose for one run. A value above the function's cap is lowered to it.",
}

_PROBLEM: Schema = {
    **_object(
        {
            "type": {"type": "string", "format": "uri-reference"},
            "title": {"type": "string", "description": "The reason, in words."},
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": {"type": "string", "description": "What was wrong, and the way out."},
            "code": _CODE,
            "reason": _REASON,
            "run_id": RUN_ID,
            "retry_after": _RETRY_AFTER,
            "partial": _PARTIAL,
        },
        optional=("retry_after",),
    ),
    "description": "A run that failed (RFC 9457).",
}

_STARTED: Schema = {
    **_object(
        {
            "type": {"type": "string", "const": "started"},
            "run_id": RUN_ID,
            "function": {"type": "string"},
            "variant": {"type": ["string", "null"]},
            "model": {"type": "string"},
            "max_tokens": {"type": ["integer", "null"]},
            "timeout": {"type": "number"},
        }
    ),
    "description": "Comes with the first content, and tells the values in force.",
}

_ERROR: Schema = {
    **_object(
        {
            "type": {"type": "string", "const": "error"},
            "code": _CODE,
            "reason": _REASON,
            "message": {"type": "string"},
            "run_id": RUN_ID,
            "retry_after": _RETRY_AFTER,
            "partial": _PARTIAL,
        },
        optional=("retry_after",),
    ),
    "description": "The last event of a run that failed, once the headers are out.",
}

TEXT_ENDS = [reason.value for reason in FinishReason]
"""A text function finishes for every reason; a typed one for ``stop`` alone."""
