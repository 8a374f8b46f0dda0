"""The flags of ``deltawire run NAME``: made from the function's signature, read into the JSON of its input.

A ``str`` (also a date, an enum of strings) is what stands there. A ``bool`` is ``--flag`` or ``--no-flag``. Everything
else is JSON, or the words as they are where they are none. A list takes its flag more than once, or one JSON array.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import msgspec
from msgspec import Raw
from typing_extensions import override

from deltawire.cli.signature import type_name
from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function

Schema = Mapping[str, Any]

OWN = frozenset({"app", "model", "json", "events", "help"})
"""The command's own flags. A parameter of such a name has none, and is given with ``--json``."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for after the function's name. ``input`` is JSON text, or ``-`` for JSON from stdin."""

    model: str | None
    events: bool
    json: str | None
    text: str | None
    """The bare positional: ``-`` is stdin."""
    given: Mapping[str, object]
    """By parameter: a string or a bool, or the strings of a list."""


def named_app(arguments: Sequence[str]) -> str | None:
    """The ``--app`` among the arguments: needed before the function, whose flags the others are, can be known."""
    parser = _Parser("deltawire run", add_help=False, allow_abbrev=False)
    parser.add_argument("--app")
    return parser.parse_known_args(list(arguments))[0].app


def parse(function: Function, arguments: Sequence[str]) -> Asked:
    """Raises ``DeclarationError`` for arguments that do not fit; prints the help, and exits, where it is asked for."""
    flags, bare = _split(list(arguments))
    parser = _parser(function)
    # Intermixed: else the positional, which may be left out, is only looked for before the first flag.
    parsed = vars(parser.parse_intermixed_args(flags))
    if bare:
        if function.text_input is None or len(bare) > 1 or parsed["text"] is not None:
            parser.error(f"unrecognized arguments: {' '.join(bare)}")
        parsed["text"] = bare[0]
    given = {
        name: parsed[_PARAMETER + name]
        for name in function.inputs.model_fields
        if parsed.get(_PARAMETER + name) is not None
    }
    asked = Asked(parsed["model"], parsed["events"], parsed["json"], parsed.get("text"), given)
    if asked.json is not None and (given or asked.text is not None):
        raise DeclarationError("--json is the whole input: leave the other parameters out")
    if asked.text is not None and function.text_input in given:
        raise DeclarationError(f"{function.text_input} is given twice: with its flag and without")
    return asked


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """At ``--``: what follows it is no flag, whatever it looks like."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def input_of(function: Function, given: Mapping[str, object]) -> bytes:
    """The JSON of the function's input. Numbers stand in it as they were written."""
    schema = function.input_schema()
    definitions = cast("Mapping[str, Schema]", schema.get("$defs", {}))
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    names = {name: field.alias or name for name, field in function.inputs.model_fields.items()}
    values = {names[name]: _value(value, properties[names[name]], definitions) for name, value in given.items()}
    try:
        return msgspec.json.encode(values)
    except UnicodeEncodeError:
        raise DeclarationError("an argument is not UTF-8") from None


def _value(given: object, schema: Schema, definitions: Mapping[str, Schema]) -> object:
    match given:
        case bool():
            return given
        case [str() as whole] if _is_array_text(whole):
            return Raw(whole.encode())
        case list():
            item = _item(schema, definitions)
            return [_value(part, item, definitions) for part in cast("list[str]", given)]
        case str() if _is_string(schema, definitions):
            return given
        case str():
            return _json_or_words(given)
        case _:
            raise AssertionError(f"no flag gives a {type(given).__name__}")


def _json_or_words(text: str) -> object:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return Raw(text.encode())


def _is_array_text(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), list)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False


def _branches(schema: Schema, definitions: Mapping[str, Schema], depth: int = 0) -> list[Schema]:
    """What a value may be, without ``null``, behind references and choices."""
    if depth > 8:
        return [schema]
    if reference := schema.get("$ref"):
        return _branches(definitions[str(reference).removeprefix("#/$defs/")], definitions, depth + 1)
    if choices := cast("list[Schema]", schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or []):
        return [branch for choice in choices for branch in _branches(choice, definitions, depth + 1)]
    return [] if schema.get("type") == "null" else [schema]


def _is(kind: str, schema: Schema, definitions: Mapping[str, Schema]) -> bool:
    branches = _branches(schema, definitions)
    return bool(branches) and all(branch.get("type") == kind for branch in branches)


def _is_string(schema: Schema, definitions: Mapping[str, Schema]) -> bool:
    branches = _branches(schema, definitions)
    return bool(branches) and all(
        branch.get("type") == "string" or ("type" not in branch and isinstance(branch.get("const"), str))
        for branch in branches
    )


def _item(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    [array, *_] = _branches(schema, definitions)
    items: object = array.get("items")
    return cast("Schema", items) if isinstance(items, dict) else {}


_PARAMETER = "parameter "
"""Before a parameter's name where the parser keeps its value, so that it is none of the command's own."""


class _Parser(argparse.ArgumentParser):
    @override
    def error(self, message: str) -> NoReturn:
        if message.startswith("argument --") and message.endswith("expected one argument"):
            flag = message.removeprefix("argument ").partition(":")[0].split("/")[0]
            message += f" (one that begins with a dash is written {flag}=…)"
        raise DeclarationError(f"{message}; see {self.prog} --help")


def _parser(function: Function) -> _Parser:
    parser = _Parser(
        prog=f"deltawire run {function.name}",
        description=function.description.partition("\n\n")[0] or None,
        add_help=False,
        allow_abbrev=False,
        usage="%(prog)s [FLAGS]" + (f" [{function.text_input.upper()}]" if function.text_input else ""),
        formatter_class=_Formatter,
    )
    if function.text_input is not None:
        about = f"{function.text_input}, without its flag; - reads it from stdin"
        parser.add_argument("text", nargs="?", metavar=function.text_input.upper(), help=about)
    flags = parser.add_argument_group("input")
    for name in function.inputs.model_fields:
        _add_flag(flags, name, function)
    own = parser.add_argument_group("besides")
    own.add_argument("--json", metavar="JSON", help="the whole input as JSON; - reads it from stdin")
    own.add_argument("--events", action="store_true", help="print the run's events, a line of JSON each")
    own.add_argument("--model", metavar="MODEL", help="provider:model, instead of the one that is set")
    own.add_argument("--app", metavar="APP", help="the file with the functions, or its module's name")
    own.add_argument("--help", action="help", help="show this")
    return parser


def _add_flag(group: "argparse._ArgumentGroup", name: str, function: Function) -> None:  # pyright: ignore[reportPrivateUsage]  (argparse has no public name for it)
    if name in OWN:
        return
    field = function.inputs.model_fields[name]
    schema = function.input_schema()
    definitions = cast("Mapping[str, Schema]", schema.get("$defs", {}))
    own = cast("Mapping[str, Schema]", schema["properties"])[field.alias or name]
    about = type_name(field.annotation)
    if field.description:
        about = f"{about}: {field.description}"
    if field.is_required():
        about += " (required)"
    elif own.get("default") is not None:
        about += f" (default: {_written(own['default'])})"
    about = about.replace("%", "%%")  # argparse formats it
    spellings = list(dict.fromkeys([f"--{name.replace('_', '-')}", f"--{name}"]))
    kept = _PARAMETER + name
    if _is("boolean", own, definitions):
        group.add_argument(*spellings, dest=kept, action="store_true", default=None, help=about)
        if f"no_{name}" not in function.inputs.model_fields:
            negated = [f"--no-{spelling.removeprefix('--')}" for spelling in spellings]
            group.add_argument(*negated, dest=kept, action="store_false", default=None, help=argparse.SUPPRESS)
    elif _is("array", own, definitions):
        group.add_argument(*spellings, dest=kept, action="append", metavar="ITEM", help=f"{about}; may be repeated")
    else:
        group.add_argument(*spellings, dest=kept, metavar="VALUE", help=about)


def _written(default: object) -> str:
    """As it would be typed."""
    return default if isinstance(default, str) and default else msgspec.json.encode(default).decode()


class _Formatter(argparse.HelpFormatter):
    """One spelling of each flag, and ``--[no-]flag`` for those that are on or off."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    @override
    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        flag = action.option_strings[0]
        if isinstance(action, argparse._StoreTrueAction) and action.dest.startswith(_PARAMETER):  # pyright: ignore[reportPrivateUsage]  (argparse has no public name for it)
            return f"--[no-]{flag.removeprefix('--')}"
        return f"{flag} {action.metavar}" if action.nargs != 0 else flag
