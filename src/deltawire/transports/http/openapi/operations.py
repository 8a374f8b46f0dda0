"""The operations of one function, and ``/invoke`` over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

import msgspec
from msgspec import Raw

from deltawire.domain.events import Event, Finished, FinishReason, Started, Text, Usage
from deltawire.domain.function import Function
from deltawire.domain.json_schema import as_schema
from deltawire.domain.ports import JsonSchema
from deltawire.transports import codec
from deltawire.transports.codec import well_formed
from deltawire.transports.http.openapi import failures, shared
from deltawire.transports.http.openapi.components import Components, Schema
from deltawire.transports.http.openapi.samples import Unguessable, sample
from deltawire.transports.http.openapi.shared import Shared

_SUMMARY = 100
"""The longest summary, in characters."""
_NO_EXAMPLE = object()


@dataclass(frozen=True, slots=True)
class Described:
    """A function in the document: its schemas as references, and examples where there are any."""

    function: Function
    class_name: str
    input: Schema
    output: Schema
    input_example: object
    output_example: object

    @classmethod
    def of(cls, function: Function, components: Components) -> "Described":
        name = _class_name(function.name)
        input_schema, output_schema = _clean(function.input_schema()), _clean(function.output.json_schema())
        inputs = components.adopt(f"{name}Input", {**input_schema, "title": f"{name}Input"})
        if function.text_input is not None:
            text: Schema = {"type": "string", "description": f"The same as `{function.text_input}`."}
            inputs = Schema(anyOf=[inputs, text])
        output = components.adopt(str(output_schema.get("title") or f"{name}Output"), output_schema)
        return cls(function, name, inputs, output, _sampled(input_schema), _sampled(output_schema))


def path_of(name: str) -> str:
    return f"/v1/functions/{quote(name)}"


def summary_of(description: str, otherwise: str) -> str:
    """The first line of a docstring: its summary, by PEP 257."""
    line = next((line.strip() for line in description.splitlines() if line.strip()), otherwise)
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1].rstrip() + "…"


def run(described: Described, ids: str, components: Components, common: Shared) -> Schema:
    """``POST /v1/functions/NAME``."""
    function, name = described.function, described.class_name
    request = components.add(
        f"{name}Request",
        {
            "type": "object",
            "properties": {"input": described.input, **shared.run_members(common, function.settings.variants)},
            "required": ["input"],
            "additionalProperties": False,
        },
    )
    operation: Schema = {
        "operationId": ids,
        "tags": ["functions"],
        "summary": summary_of(function.description, f"Run {function.name}"),
        "description": _description(function),
        "requestBody": _body(request, {"input": described.input_example}, described.input_example),
        "responses": {
            "200": _answer(described, components, common),
            **failures.responses(failures.of_run(typed=not function.output.is_text), common),
        },
    }
    return operation


def invoke(functions: Sequence[Described], ids: str, components: Components, common: Shared) -> Schema:
    """``POST /invoke``: the calls told apart by ``type``."""
    calls = {each.function.name: _call(each, components, common) for each in functions}
    outputs = [common.text_output if each.function.output.is_text else each.output for each in functions]
    different = list({msgspec.json.encode(output): output for output in outputs}.values())
    different.sort(key=lambda output: "$ref" not in output)  # clients take the first that fits: a bare dict fits much
    body: Schema = {
        "oneOf": list(calls.values()),
        "discriminator": {
            "propertyName": "type",
            "mapping": {name: reference["$ref"] for name, reference in calls.items()},
        },
    }
    examples = {
        each.function.name: {"value": {"type": each.function.name, "input": each.input_example}}
        for each in functions
        if each.input_example is not _NO_EXAMPLE
    }
    media: Schema = {"schema": body, **({"examples": examples} if examples else {})}
    any_typed = any(not each.function.output.is_text for each in functions)
    return {
        "operationId": ids,
        "tags": ["functions"],
        "summary": "Run a function that the body names",
        "description": 'The reply is the bare output; that of a function that answers in text is `{"text": …}`. '
        "The body is read as JSON whatever its content type says. Any finish reason but `stop` is an error.",
        "requestBody": {"required": True, "content": {"application/json": media}},
        "responses": {
            "200": {
                "description": "The function's output.",
                "headers": {"deltawire-run-id": {"$ref": "#/components/headers/RunId"}},
                "content": {
                    "application/json": {"schema": different[0] if len(different) == 1 else {"anyOf": different}}
                },
            },
            **failures.responses(failures.of_invoke(any_typed=any_typed), common),
        },
    }


def _class_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) or "Function"


def _clean(schema: JsonSchema) -> JsonSchema:
    return as_schema(well_formed(schema)) or {}


def _sampled(schema: JsonSchema) -> object:
    try:
        return sample(schema)
    except Unguessable:
        return _NO_EXAMPLE


def _description(function: Function) -> str:
    said = function.description or f"Runs `{function.name}`."
    return f"{said}\n\n`Accept` picks the reply."


def _body(schema: Schema, example: object, known: object) -> Schema:
    media: Schema = {"schema": schema}
    if known is not _NO_EXAMPLE:
        media["example"] = example
    return {"required": True, "content": {"application/json": media}}


def _call(described: Described, components: Components, common: Shared) -> Schema:
    name = described.function.name
    return components.add(
        f"{described.class_name}Call",
        {
            "type": "object",
            "properties": {
                "type": {"type": "string", "const": name},
                "input": described.input,
                **shared.run_members(common, described.function.settings.variants),
            },
            "required": ["type", "input"],
            "additionalProperties": False,
        },
    )


def _answer(described: Described, components: Components, common: Shared) -> Schema:
    """Status 200 in its four forms."""
    if described.function.output.is_text:
        finished = components.add("TextFinished", shared.finished(common, {"type": "string"}, shared.TEXT_ENDS))
        last = components.add("StreamedTextFinished", shared.finished(common, {"type": "null"}, shared.TEXT_ENDS))
    else:
        finished = last = components.add(
            f"{described.class_name}Finished", shared.finished(common, described.output, [FinishReason.stop.value])
        )
    events: Schema = {"oneOf": [common.started, common.text, common.reasoning, last, common.error]}
    plain: Schema = {"schema": finished}
    streams: dict[str, Schema] = {media: {"schema": {"type": "string"}} for media in _TOLD}
    for media in ("text/event-stream", "application/x-ndjson"):
        streams[media]["x-item-schema"] = events
    if described.output_example is not _NO_EXAMPLE:
        example = _Example(described)
        plain["example"] = msgspec.json.decode(codec.finished(example.finished(whole=True)))
        streams["text/event-stream"]["example"] = "".join(codec.sse(event).decode() for event in example.events())
        streams["application/x-ndjson"]["example"] = "".join(codec.ndjson(event).decode() for event in example.events())
        streams["text/plain"]["example"] = example.text
    return {
        "description": "\n".join(["The run's end, or its events as they come:", "", *_FORMS]),
        "headers": {"deltawire-run-id": {"$ref": "#/components/headers/RunId"}},
        "content": {"application/json": plain, **streams},
    }


_TOLD = {
    "text/event-stream": "server-sent events, each with its type as `event:` and its other members as `data:`",
    "application/x-ndjson": "the same events, one JSON object a line; an empty line is a sign of life",
    "text/plain": "the answer's text alone; a connection that is cut before the body's end is a failure",
}


_FORMS = [f"- `{media}`: {told}" for media, told in _TOLD.items()]


class _Example:
    """A run as it might go."""

    def __init__(self, described: Described) -> None:
        self._function = described.function
        self._output = msgspec.json.encode(described.output_example)
        is_text = described.function.output.is_text
        self.text = str(described.output_example) if is_text else self._output.decode()

    def events(self) -> list[Event]:
        started = Started(
            run_id=failures.EXAMPLE_RUN,
            function=self._function.name,
            variant=None,
            model="openai:gpt-4o-mini",
            max_tokens=self._function.settings.max_tokens,
            timeout=self._function.settings.timeouts.total,
        )
        return [started, Text(self.text), self.finished(whole=False)]

    def finished(self, *, whole: bool) -> Finished:
        return Finished(
            run_id=failures.EXAMPLE_RUN,
            output=Raw(self._output) if whole or not self._function.output.is_text else None,
            finish_reason=FinishReason.stop,
            usage=Usage(input_tokens=29, output_tokens=7),
            attempts=1,
        )
