"""``deltawire run``: one run of one function, its answer into the terminal or the pipe as it comes."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from deltawire.cli.flags import Asked
    from deltawire.domain.function import Function
    from deltawire.domain.run import RunRequest


def run(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The function. `deltawire run NAME --help` shows its own flags.")
    ],
    app: Annotated[
        str | None, typer.Option(metavar="APP", help="The file with the functions, or its module's name.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="provider:model, instead of the one that is set.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="JSON", help="The whole input as JSON; - reads it from stdin.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Print the run's events, a line of JSON each.")] = False,
) -> None:
    """Run a function and stream its answer: its parameters are flags."""
    from deltawire.bootstrap.core import build_core
    from deltawire.bootstrap.load import load_functions
    from deltawire.cli import flags
    from deltawire.cli.app import app_of
    from deltawire.cli.play import Log, play
    from deltawire.settings import Settings

    before = [f"--json={json}"] if json is not None else []
    arguments = [*before, *context.args]
    settings = Settings.load(app=flags.named_app(arguments) or app)
    log = Log.installed(settings.log)
    functions = load_functions(app_of(settings, f"run {name} --app shop.py"))
    function = _known(name, functions)
    asked = flags.parse(function, arguments)
    request = _request(function, asked)
    core = build_core(functions, settings, [], model=asked.model or model, only=name)
    raise typer.Exit(play(core, function, request, log, as_events=events or asked.events))


def _known(name: str, functions: "dict[str, Function]") -> "Function":
    from difflib import get_close_matches

    from deltawire.domain.errors import DeclarationError

    if name not in functions:
        known = ", ".join(f"'{other}'" for other in get_close_matches(name, functions) or sorted(functions))
        raise DeclarationError(f"no function named '{name}'; known: {known}")
    return functions[name]


def _request(function: "Function", asked: "Asked") -> "RunRequest":
    """Raises ``DeclarationError`` for an input that is no JSON, or no text."""
    import msgspec
    from msgspec import Raw

    from deltawire.cli import flags
    from deltawire.domain.errors import DeclarationError
    from deltawire.domain.run import RunRequest

    if asked.json is None:
        given = dict(asked.given)
        if asked.text is not None and function.text_input is not None:
            given[function.text_input] = _stdin() if asked.text == "-" else asked.text
        return RunRequest(Raw(flags.input_of(function, given)))
    written = _stdin() if asked.json == "-" else asked.json
    try:
        encoded = written.encode()
        msgspec.json.decode(encoded)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise DeclarationError(f"the input is not JSON: {error}") from None
    return RunRequest(Raw(encoded))


def _stdin() -> str:
    from deltawire.domain.errors import DeclarationError

    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise DeclarationError("what came on stdin is not UTF-8") from None
