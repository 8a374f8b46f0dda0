"""What the document promises of any function: valid OpenAPI, every operation its own, nothing lost, nothing broken."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest

from deltawire import Prompt, function
from deltawire.bootstrap.load import load_functions
from deltawire.domain.errors import Reason
from deltawire.domain.function import Function
from deltawire.transports.http.documents import json_document
from deltawire.transports.http.openapi.components import Components
from deltawire.transports.http.openapi.document import openapi
from deltawire.transports.status import HTTP_STATUS
from tests.matrix.cells import CONTRACT
from tests.matrix.server import APP as MATRIX_APP
from tests.node import Node
from tests.openapi.test_fuzz import APP

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
SHOP = Path(__file__).parents[2] / "examples" / "shop.py"
LINT = """
import { createConfig, lint } from "@redocly/openapi-core";
const config = await createConfig({ extends: ["spec"] });
const problems = await lint({ ref: process.argv[2], config });
console.log(JSON.stringify(problems.map((each) => `${each.ruleId}: ${each.message} ${each.location[0]?.pointer}`)));
"""


def document_of(*functions: Function) -> Json:
    return json.loads(json_document(lambda: openapi(functions, "1.2.3")).content())


def document_of_file(app: Path) -> Json:
    return document_of(*load_functions(str(app)).values())


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def responses(document: Json, operation: Json) -> Iterator[tuple[int, Json]]:
    for status, response in operation["responses"].items():
        name = response.get("$ref", "").rpartition("/")[2]
        yield int(status), document["components"]["responses"][name] if name else response


def validator(document: Json, schema: Json) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]}, validate_formats=True)


def examples(media: Json) -> Iterator[object]:
    if "example" in media:
        yield media["example"]
    for example in media.get("examples", {}).values():
        yield example["value"]


apps = pytest.mark.parametrize("app", [APP, SHOP, MATRIX_APP], ids=["odd", "shop", "matrix"])


@apps
async def test_it_is_valid_openapi(app: Path, node_modules: Node, tmp_path: Path) -> None:
    node_modules.link(tmp_path)
    (tmp_path / "lint.mjs").write_text(LINT)
    document = document_of_file(app)
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    del document["info"]["version"]
    (tmp_path / "broken.json").write_text(json.dumps(document))
    assert json.loads(await node_modules.run(tmp_path / "lint.mjs", "openapi.json", folder=tmp_path)) == []
    (problem,) = json.loads(await node_modules.run(tmp_path / "lint.mjs", "broken.json", folder=tmp_path))
    assert "version" in problem


@apps
def test_every_schema_is_one_and_every_example_fits_it(app: Path) -> None:
    document = document_of_file(app)
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    shown = 0
    for _, _, operation in operations(document):
        parts = [response["content"] for _, response in responses(document, operation)]
        for content in [*parts, operation.get("requestBody", {}).get("content", {})]:
            for media in content.values():
                for example in examples(media):
                    shown += 1
                    validator(document, media["schema"]).validate(example)
    assert shown > 10


@apps
def test_every_function_has_an_operation_and_every_operation_an_id_of_its_own(app: Path) -> None:
    document = document_of_file(app)
    functions = load_functions(str(app))
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    assert set(functions) <= set(ids)
    calls = document["paths"]["/invoke"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert list(calls["discriminator"]["mapping"]) == sorted(functions)


@apps
def test_the_examples_of_the_requests_bind(app: Path) -> None:
    functions = load_functions(str(app))
    for _, path, operation in operations(document_of_file(app)):
        if "requestBody" in operation and path != "/invoke":
            media = operation["requestBody"]["content"]["application/json"]
            if "example" in media:
                functions[operation["operationId"]].bind(json.dumps(media["example"]["input"]).encode())


@pytest.mark.parametrize(
    ("path", "transports", "typed"),
    [
        ("/v1/functions/say", ("json", "sse", "ndjson", "text"), False),
        ("/v1/functions/items", ("json", "sse", "ndjson", "text"), True),
        ("/invoke", ("invoke",), None),
    ],
)
def test_the_reasons_are_those_of_the_contract(path: str, transports: tuple[str, ...], typed: bool | None) -> None:
    elsewhere = {"unknown_path", "method_not_allowed", "canceled"}  # nobody sees these who calls this operation
    if path != "/invoke":
        elsewhere.add("unknown_function")
    stated = {
        cell.reason
        for cell in CONTRACT.cells
        if cell.reason and cell.transport in transports and (typed is None or typed or not cell.typed)
    }
    document = document_of_file(MATRIX_APP)
    told: dict[str, int] = {}
    for status, response in responses(document, document["paths"][path]["post"]):
        told |= dict.fromkeys(response.get("x-reasons", []), status)
    assert told.keys() == stated - elsewhere
    assert all(HTTP_STATUS[Reason(reason)] == status for reason, status in told.items())


def test_a_function_with_variants_names_them_and_one_without_has_none() -> None:
    schemas = document_of_file(APP)["components"]["schemas"]
    assert schemas["DescribeChatRequest"]["properties"]["variant"]["enum"] == ["small", "large", None]
    assert "variant" not in schemas["ChatRequest"]["properties"]


def test_equal_definitions_are_one_component_and_unequal_ones_two() -> None:
    schemas = document_of_file(APP)["components"]["schemas"]
    items = {name: set(schema["properties"]) for name, schema in schemas.items() if re.fullmatch(r"Item\d*", name)}
    assert sorted(map(sorted, items.values())) == [["name", "price"], ["shelf"]]
    assert [name for name in schemas if name.startswith("Node")] == ["Node"]
    assert schemas["Node"]["properties"]["children"]["items"] == {"$ref": "#/components/schemas/Node"}
    assert all(schema.get("title", name) == name for name, schema in schemas.items())


def test_what_only_looks_like_a_reference_is_left_alone() -> None:
    data = {"$ref": "#/$defs/Thing"}
    schema = {
        "$defs": {"Thing": {"type": "string"}},
        "items": data,
        "default": [data],
        "examples": [data],
        "const": data,
    }
    assert Components().adopt("Given", schema) == {
        "items": {"$ref": "#/components/schemas/Thing"},
        "default": [data],
        "examples": [data],
        "const": data,
    }


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        " ",
        "\n\n",
        "\ud83d",
        "a\x00b",
        '</script><img src="x" onerror="alert(1)">',
        "# *x* `y` [z](javascript:0)",
        "x" * 9999,
    ],
)
def test_a_docstring_is_data(docstring: str) -> None:
    def odd(text: str) -> Prompt:
        return Prompt(user=text)

    odd.__doc__ = docstring
    operation = document_of(function(odd))["paths"]["/v1/functions/odd"]["post"]
    assert 0 < len(operation["summary"]) <= 100
    if docstring.strip() and docstring != "\ud83d":
        assert docstring.strip() in cast("str", operation["description"])


def test_the_server_is_where_the_document_is() -> None:
    assert [server["url"] for server in document_of_file(SHOP)["servers"]] == ["./"]
