"""``docs/settings.md`` holds every setting with its default, and every flag of every command."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from deltawire.cli import flags
from deltawire.cli.main import app
from deltawire.providers.settings import KINDS
from deltawire.settings import Settings

PAGE = (Path(__file__).parent.parent / "docs" / "settings.md").read_text()
ROWS: list[tuple[str, str]] = re.findall(r"^\| `(DELTAWIRE_[A-Z_]+)` \| (\S*) ?\|", PAGE, re.MULTILINE)


def settings(model: type[BaseModel], before: str = "DELTAWIRE_") -> Iterator[tuple[str, FieldInfo]]:
    """Each setting's variable and field, sections unfolded; an entry of a mapping is called ``NAME``."""
    for name, field in model.model_fields.items():
        variable = f"{before}{name.upper()}"
        [*_, inner] = get_args(field.annotation) or (field.annotation,)
        if name == "providers":
            for kind in KINDS.values():
                yield from settings(kind, f"{variable}__NAME__")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            entry = "NAME__" if get_args(field.annotation) else ""
            yield from settings(inner, f"{variable}__{entry}")
        else:
            yield variable, field


def written(default: object) -> str:
    match default:
        case None | () | {}:
            return ""
        case float():
            return f"`{default:g}`"
        case _:
            return f"`{default}`"


ALL = [(variable, written(field.get_default(call_default_factory=True))) for variable, field in settings(Settings)]


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting[0])
def test_each_setting_is_on_the_page_with_its_default(setting: tuple[str, str]) -> None:
    assert setting in ROWS


def test_the_page_has_no_setting_that_does_not_exist() -> None:
    assert sorted(ROWS) == sorted(ALL)


def commands(command: object, name: str = "deltawire") -> Iterator[tuple[str, list[str]]]:
    """Each command that has parameters, and how those are spelled on the page."""
    assert isinstance(command, TyperGroup | TyperCommand)
    spelled = [
        str(parameter.metavar) if isinstance(parameter, TyperArgument) else parameter.opts[0]
        for parameter in command.params
    ]
    if spelled:
        yield name, spelled
    if isinstance(command, TyperGroup):
        for inner, other in command.commands.items():
            yield from commands(other, f"{name} {inner}")


ALL_COMMANDS = dict(commands(get_command(app)))


def rows(command: str) -> list[str]:
    """The first column of the command's table."""
    [section] = re.findall(rf"^### `{command}`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_each_flag_is_on_the_page_and_no_other(command: str) -> None:
    assert set(rows(command)) - {"--help"} == set(ALL_COMMANDS[command])


def test_every_command_is_walked() -> None:
    assert ALL_COMMANDS.keys() == {
        *("deltawire", "deltawire serve", "deltawire run", "deltawire list", "deltawire doctor", "deltawire bench")
    }
    assert "`deltawire local install`" in PAGE


def test_the_flags_that_may_stand_after_a_functions_name_are_those_of_the_command() -> None:
    own = {spelled for spelled in ALL_COMMANDS["deltawire run"] if spelled.startswith("--")}
    assert {f"--{name}" for name in flags.OWN} == {*own, "--help"}
