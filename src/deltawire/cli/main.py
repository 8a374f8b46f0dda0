"""``deltawire``: the commands, and how their errors look: one line on stderr.

What is heavy is imported inside the commands, so that asking for help costs nothing.
"""

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from deltawire.cli import bench, doctor, local, run, serve
from deltawire.cli import list as list_command
from deltawire.cli.terminal import PIPE_CLOSED, complain
from deltawire.cli.version import version as version_here

_INTERRUPTED = 128 + 2
"""What a shell shows for a program that SIGINT ended."""
_PATIENCE = 0.5
"""Seconds that blocking functions get to end when everything else has."""

# Plain pages: they fit any terminal, and look like those of `run NAME`.
app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
app.command()(serve.serve)
app.command(context_settings={"allow_extra_args": True, "allow_interspersed_args": False})(run.run)
app.command("list")(list_command.list_functions)
app.command()(doctor.doctor)
app.command()(bench.bench)
app.add_typer(local.app, name="local")


@app.callback(invoke_without_command=True)
def deltawire(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """Write an LLM function once; its deltas reach every caller over every wire."""
    if version:
        print(f"deltawire {version_here()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    reporting(lambda: app(prog_name="deltawire", standalone_mode=False))


def reporting(command: Callable[[], int | None]) -> NoReturn:
    """Run it and exit: with its code, with 2 for what was asked wrongly or cannot work, with 130 after Ctrl-C."""
    from deltawire.domain.errors import DeclarationError

    try:
        code = command() or 0
    except TyperException as error:
        complain(error.format_message())
        code = error.exit_code
    except DeclarationError as error:
        _explain(error)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit without waiting for a function that blocks in its thread: nobody asks for its answer any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads: the interpreter must not find that out a second time
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or PIPE_CLOSED
    blocked = [thread for thread in threading.enumerate() if thread.name.startswith("deltawire")]
    for thread in blocked:
        thread.join(_PATIENCE / len(blocked))
    if any(thread.is_alive() for thread in blocked):
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _explain(error: Exception) -> None:
    """The line, and for who asked for it (``log.level`` debug) the traceback of the user's own code before it."""
    from deltawire.domain.errors import DeclarationError
    from deltawire.settings import Settings

    if error.__cause__ is not None:
        try:
            wanted = Settings.load().log.level == "debug"
        except DeclarationError:
            wanted = False
        if wanted:
            traceback.print_exception(error.__cause__)
    complain(str(error))
