"""A doctor's report for a person: what is set, which models answer, and at the end what is wrong."""

import sys
from collections.abc import Callable

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deltawire.bootstrap.doctor.listing import DEFAULT
from deltawire.bootstrap.doctor.report import Finding, Reached, Report, Secret, Setting
from deltawire.cli.terminal import one_line

_UNCUT = 1000
"""Columns in a pipe: nothing is wrapped there."""


def show(report: Report) -> None:
    if sys.stdout.isatty():
        Console(highlight=False).print(_page(report, _beside))
        return
    console = Console(width=_UNCUT, highlight=False, color_system=None)
    with console.capture() as drawn:
        console.print(_page(report, _in_columns))
    for line in drawn.get().splitlines():
        print(line.rstrip())


def _page(report: Report, settings: Callable[[Report], Table]) -> RenderableType:
    parts: list[RenderableType] = []
    if report.settings:
        parts += [settings(report), ""]
    if report.secrets:
        parts += [_secrets(report.secrets), ""]
    if report.models:
        parts += [_models(report.models), ""]
    parts += [_finding(finding) for finding in sorted(report.findings, key=lambda finding: finding.level)]
    troubles = sum(finding.level == "trouble" for finding in report.findings)
    verdict = Text("all is well", "bold green") if not troubles else Text(_count(troubles), "bold red")
    return Group(*parts, verdict)


def _in_columns(report: Report) -> Table:
    table = _table("setting", "value", "from")
    for setting in _said(report):
        table.add_row(setting.name, _cell(setting.value), one_line(setting.origin))
    table.add_row(f"{_unsaid(report)} others", "", DEFAULT)
    return table


def _beside(report: Report) -> Table:
    """Names of settings and of variables are long: a terminal has no room for both beside a value, so the place stands
    after the value, or below it."""
    table = _table("setting", "value, and where it comes from")
    table.columns[0].no_wrap = True
    for setting in _said(report):
        origin = one_line(setting.origin).removesuffix(f": {setting.name}")
        table.add_row(setting.name, Text.assemble(_cell(setting.value), " ", (f"({origin})", "dim")))
    table.add_row(Text(f"{_unsaid(report)} others", "dim"), Text("their defaults", "dim"))
    return table


def _said(report: Report) -> list[Setting]:
    return [setting for setting in report.settings if setting.origin != DEFAULT]


def _unsaid(report: Report) -> int:
    return len(report.settings) - len(_said(report))


def _secrets(secrets: list[Secret]) -> Table:
    table = _table("secret", "found", "from")
    for secret in secrets:
        found = Text(secret.length or "yes") if secret.found else Text("no", "red")
        table.add_row(f"{secret.provider} {secret.setting}", found, Text(one_line(secret.origin), "dim"))
    return table


def _models(models: list[Reached]) -> Table:
    table = _table("model", "answers", "used by")
    for model in models:
        table.add_row(
            Text(one_line(model.model), "green"), _answers(model), Text(", ".join(model.functions) or "-", "dim")
        )
    return table


def _answers(model: Reached) -> Text:
    if model.reached is None:
        return Text("not asked", "dim")
    if not model.reached:
        return Text(model.reason or "no", "red")
    first = model.first_content if model.first_content is not None else model.total
    return Text(f"after {first:.2f} s" if first is not None else "yes")


def _finding(finding: Finding) -> RenderableType:
    colour = "red" if finding.level == "trouble" else "yellow"
    head = Text.assemble((finding.level, f"bold {colour}"), "  ", (one_line(finding.where), "bold"))
    return Group(head, Padding(Text(one_line(finding.message)), (0, 0, 1, 2)))


def _cell(value: object) -> Text:
    match value:
        case None:
            return Text("-")
        case bool():
            return Text("yes" if value else "no")
        case float():
            return Text(f"{value:g}")
        case dict() | list():
            return Text(", ".join(map(str, value)) or "-")  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]  (of a report: plain values)
        case _:
            return Text(one_line(str(value)))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _count(troubles: int) -> str:
    return "1 trouble" if troubles == 1 else f"{troubles} troubles"
