"""The page misses no outcome and states none that cannot be: whatever is added to an enum must be added there."""

from collections import Counter
from pathlib import Path

import pytest

import deltawire
from deltawire.bootstrap.load import load_functions
from deltawire.domain.errors import Reason
from deltawire.domain.events import FinishReason
from deltawire.transports.status import HTTP_STATUS
from tests.matrix import table
from tests.matrix.cells import CONTRACT, Cell, on
from tests.matrix.server import APP
from tests.matrix.transports import TRANSPORTS


def impossible(reason: str, when: str, transport: str) -> bool:
    return any(
        row["reason"] == reason and row["when"] in (when, "both") and (row["on"] == "all" or transport in on(row["on"]))
        for row in CONTRACT.impossible
    )


def cells_of(reason: str, when: str, transport: str) -> list[Cell]:
    return [
        cell
        for cell in CONTRACT.cells
        if (cell.reason, "after" if cell.after else "before", cell.transport) == (reason, when, transport)
    ]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_every_reason_has_a_cell_or_is_said_to_be_impossible(transport: str, when: str) -> None:
    missing = [
        reason.value
        for reason in Reason
        if not cells_of(reason, when, transport) and not impossible(reason, when, transport)
    ]
    assert not missing, f"docs/contract.md does not state these on {transport}, {when} the first content: {missing}"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_is_said_to_be_impossible_has_no_cell(transport: str, when: str) -> None:
    both = [
        reason.value for reason in Reason if cells_of(reason, when, transport) and impossible(reason, when, transport)
    ]
    assert not both


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("typed", [False, True], ids=["text", "typed"])
def test_every_finish_reason_has_a_cell(transport: str, typed: bool) -> None:
    cells = [cell for cell in CONTRACT.cells if cell.transport == transport and cell.typed == typed]
    if not typed and transport != "invoke":
        cells = [cell for cell in cells if cell.reason is None]  # a text function ends in `finished` for all of them
    assert {cell.finish_reason for cell in cells} >= {reason.value for reason in FinishReason}


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_only_text_functions_finish_for_another_reason_than_stop(transport: str) -> None:
    finished = [cell for cell in CONTRACT.cells if cell.transport == transport and cell.reason is None]
    odd = {cell.row["finish_reason"] for cell in finished if cell.typed or transport == "invoke"}
    assert odd == {"stop"}


def test_the_table_of_reasons_is_the_closed_list() -> None:
    stated = {row["reason"]: (row["code"], row["status"], row["again"]) for row in CONTRACT.reasons}
    assert stated == {
        reason.value: (reason.code.value, str(HTTP_STATUS[reason]), "yes" if reason.retry_may_help else "no")
        for reason in Reason
    }


def test_what_is_not_built_yet_is_raised_nowhere() -> None:
    never = [row["reason"] for row in CONTRACT.impossible if row["why"].endswith("yet")]
    assert never
    root = Path(deltawire.__file__).parent
    sources = {path: path.read_text() for path in root.rglob("*.py") if path.name not in ("errors.py", "status.py")}
    raised = [(name, path.name) for name in never for path, text in sources.items() if f"Reason.{name}" in text]
    assert not raised, f"these can happen now: state them in docs/contract.md: {raised}"


def test_the_table_of_functions_is_what_is_served() -> None:
    functions = load_functions(str(APP))
    for row in CONTRACT.functions:
        settings = functions[row["function"]].settings
        unsaid = "" if settings.variants else "openai:m"
        assert row["model"] == next(iter(settings.chain), unsaid)
        assert row["max_tokens"] == str(settings.max_tokens or "")
        assert row["timeout"] == str(settings.timeouts.total)
        assert functions[row["function"]].output.is_text == (row["output"] == "text")


def test_the_page_of_transports_is_up_to_date() -> None:
    assert table.FILE.read_text() == table.page(), "write it again: python -m tests.matrix.table"


def test_no_two_cells_have_one_name() -> None:
    assert [name for name, times in Counter(cell.id for cell in CONTRACT.cells).items() if times > 1] == []
