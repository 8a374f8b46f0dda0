"""Puts the document together: functions in, the content of ``/openapi.json`` out."""

from collections.abc import Iterable

from deltawire.domain.function import Function
from deltawire.transports.http.openapi import failures, operations, shared
from deltawire.transports.http.openapi.components import Components, Schema
from deltawire.transports.http.openapi.operations import Described
from deltawire.transports.http.openapi.shared import Shared

_FRESH: Schema = {"ETag": {"schema": {"type": "string"}, "required": True}}
_OWN_IDS = ("invoke", "list_functions", "healthz", "readyz")


def openapi(functions: Iterable[Function], version: str) -> Schema:
    """An OpenAPI 3.1 document. Its server is the folder that the document lies in, wherever that is mounted."""
    components = Components()
    common = Shared(components)
    listed = sorted(functions, key=lambda function: function.name)
    described = [Described.of(function, components) for function in listed]
    taken = {function.name for function in listed}
    ids = {name: _free(name, taken) for name in _OWN_IDS}
    paths: Schema = {}
    for each in described:
        name = each.function.name
        paths[operations.path_of(name)] = {
            "post": operations.run(each, name, components, common),
            "get": _telling(
                _free(f"describe_{name}", taken), f"Tell what {name} takes and gives", common.description, common
            ),
        }
    paths["/invoke"] = {"post": operations.invoke(described, ids["invoke"], components, common)}
    paths["/v1/functions"] = {"get": _telling(ids["list_functions"], "List the functions", common.listing, common)}
    paths["/healthz"] = {"get": _probe(ids["healthz"], "Whether the process is alive", "ok", common)}
    paths["/readyz"] = {"get": _probe(ids["readyz"], "Whether it takes runs", "ready", common)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "deltawire", "version": version, "description": _ABOUT},
        "servers": [{"url": "./"}],
        "tags": [{"name": "functions"}, {"name": "server"}],
        "paths": paths,
        "components": {"schemas": components.schemas, "responses": common.problems, "headers": _HEADERS},
    }


_ABOUT = (
    "Functions that are answered by language models. A run ends in exactly one of `finished` and `error`; "
    "what fails before the first content is an HTTP status with a problem document."
)

_HEADERS: Schema = {
    "RunId": {"description": "The run's id, as it is in the log.", "required": True, "schema": shared.RUN_ID},
    "RetryAfter": {
        "description": "Seconds after which the call may succeed, rounded up, where they are known.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "AcceptEncoding": {
        "description": "Where it was the body's coding that is not supported: those that are.",
        "schema": {"type": "string"},
    },
}


def _free(wanted: str, taken: set[str]) -> str:
    """An operation's id that none has yet; functions keep their own names."""
    free = next(name for name in (wanted, *(f"{wanted}_{n}" for n in range(2, len(taken) + 3))) if name not in taken)
    taken.add(free)
    return free


def _telling(operation_id: str, summary: str, schema: Schema, common: Shared) -> Schema:
    return {
        "operationId": operation_id,
        "tags": ["functions"],
        "summary": summary,
        "responses": {
            "200": {
                "description": "Names, descriptions, and JSON Schemas of input and output.",
                "headers": _FRESH,
                "content": {"application/json": {"schema": schema}},
            },
            **failures.responses(failures.OF_READING, common),
        },
    }


def _probe(operation_id: str, summary: str, value: str, common: Shared) -> Schema:
    return {
        "operationId": operation_id,
        "tags": ["server"],
        "summary": summary,
        "responses": {
            "200": {"description": "It is.", "content": {"application/json": {"schema": shared.status(value)}}},
            **failures.responses(failures.OF_READING, common),
        },
    }
