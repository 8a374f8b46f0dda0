"""``docs/transports.md``: which transport promises what, read off the cells of the contract.

``python -m tests.matrix.table`` writes it; a test compares.
"""

import re
from collections.abc import Callable

from tests.matrix.cells import CONTRACT, OPEN, Cell
from tests.matrix.document import PAGE
from tests.matrix.transports import GRPC, RPC, TRANSPORTS, WHOLE

FILE = PAGE.parent / "transports.md"
Promise = Callable[[str], str]
_CELLS = {(cell.outcome, cell.transport): cell for cell in CONTRACT.cells}
_TOP = """# Which transport promises what

Made from the cells of [the contract](contract.md), each of which is played on a running server: `python -m
tests.matrix.table` writes this page, and a test holds it to them. What every transport promises is not in here: the
text exactly as the model wrote it, one terminal event or status, the run's id, an end of the provider's connection when
the caller leaves, and no key and no foreign markup in what comes.
"""


def _cell(outcome: str, transport: str) -> Cell | None:
    return _CELLS.get((outcome, transport))


def _expected(outcome: str, transport: str) -> str:
    """What comes, without the marks that a string within a string has."""
    cell = _cell(outcome, transport) or _cell(f"{outcome} to invoke", transport)
    return "" if cell is None else cell.expected.replace('\\"', '"')


def _has(*outcomes: str) -> Promise:
    return lambda transport: _mark(any(_cell(outcome, transport) for outcome in outcomes))


def _shows(pattern: str, *outcomes: str) -> Promise:
    return lambda transport: _mark(any(re.search(pattern, _expected(outcome, transport)) for outcome in outcomes))


def _mark(kept: object) -> str:
    return "yes" if kept else "–"


def _pieces(transport: str) -> str:
    return "in one piece" if transport in WHOLE else "as it comes"


def _run_id(transport: str) -> str:
    shown = _expected("a complete answer", transport)
    head = "metadata" if transport in GRPC else "header"
    places = [head] if shown.startswith((f"deltawire-run-id: {OPEN['run_id']}", "HTTP/")) else []
    return ", ".join(places + (["answer"] if OPEN["run_id"] in shown.partition("\n\n")[2] or not places else []))


def _failure(outcome: str) -> Promise:
    def told(transport: str) -> str:
        shown = _expected(outcome, transport)
        if shown.endswith("✂"):
            return "cut connection"
        if "grpc-status: " in shown:
            return "gRPC's status"
        if re.match(r"HTTP/1.1 [45]", shown):
            return "HTTP status"
        if '\n02 {"error":' in shown:
            return "Connect's end"
        return "event" if re.search(r'"type":"error"|event: error', shown) else "chunk"

    return told


def _heartbeats(transport: str) -> str:
    if transport in ("ws", *GRPC):
        return "pings"
    cell = _cell("heartbeats while idle", transport)
    return _mark(cell and OPEN["heartbeats"] in cell.expected)


def _counted(when: str) -> Promise:
    def count(transport: str) -> str:
        cells = [cell for cell in CONTRACT.cells if cell.transport == transport and cell.reason]
        return str(len({cell.reason for cell in cells if cell.after == (when == "after")}))

    return count


TABLES: dict[str, dict[str, Promise]] = {
    "What comes": {
        "the answer": _pieces,
        "reasoning": _shows('"hm"', "two pieces after reasoning"),
        "model, limits": _shows('"model":"openai:m"', "a complete answer"),
        "tokens": _shows("(?i)tokens", "a complete answer", "the usage is wanted"),
        "validated value": _shows(re.escape('{"items":["kettle"]}'), "a valid value"),
        "repair": _has("a second answer in place of one that is not valid"),
        "run id": _run_id,
    },
    "How it fails, and when": {
        "before the first content": _failure("500"),
        "after it": _failure("cut after content"),
        "heartbeats": _heartbeats,
        "caller's deadline": lambda transport: _mark(transport in RPC),
        "cancel without leaving": lambda transport: _mark(transport in (*GRPC, "ws", "engine")),
    },
    "What goes in, and how much is stated": {
        "bare string": _has("a bare string as input", "a bare string for invoke"),
        "compressed request": _has("a compressed body", "a compressed body for invoke", "a compressed message"),
        "variant": _has("a variant by name"),
        "reasons before content": _counted("before"),
        "reasons after it": _counted("after"),
        "outcomes": lambda transport: str(sum(cell.transport == transport for cell in CONTRACT.cells)),
    },
}
_NOTES = """
- "Caller's deadline" is one that the protocol has (`grpc-timeout`, `Connect-Timeout-Ms`). On every transport a request
  can have a `timeout`.
- A reason that a transport does not state cannot happen on it; the last table of the contract says why.
- What OpenAI's clients send as `messages` is no bare string, and their usage comes if they ask for it.
"""


def page() -> str:
    parts = [_TOP]
    for title, promises in TABLES.items():
        lines = [["transport", *promises], ["---"] * (1 + len(promises))]
        lines += [[f"`{transport}`", *(told(transport) for told in promises.values())] for transport in TRANSPORTS]
        parts.append(f"\n## {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines))
    return "".join([*parts, _NOTES])


if __name__ == "__main__":
    FILE.write_text(page())
