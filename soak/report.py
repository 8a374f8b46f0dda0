"""The figures of a soak, as tables, and what of them is a breach."""

from collections.abc import Iterable, Sequence

from soak.runner import Soak

_WARM_UP = 0.2
_WINDOW = 0.2
_MOST_GROWTH = 0.05


def report(soak: Soak) -> str:
    tally, book = soak.tally, soak.book
    outcomes = sorted({outcome for _, outcome in tally.outcomes}, key=lambda name: (name != "finished", name))
    wires = sorted({wire for wire, _ in tally.outcomes})
    by_wire = [[wire, *(tally.outcomes[wire, outcome] for outcome in outcomes)] for wire in wires]
    first, last = growth(soak)
    begin, end = tally.rests[0], tally.rests[-1]
    return "\n".join(
        [
            *_table(["wire", *outcomes], by_wire),
            "",
            *_table(["fault", "runs"], sorted(tally.faults.items())),
            "",
            *_table(
                ["held by the server", "first", "last"],
                [
                    ["MB of memory (RSS)", f"{first / 1e6:.1f}", f"{last / 1e6:.1f} ({last / first - 1:+.1%})"],
                    ["tasks", begin.tasks, end.tasks],
                    ["descriptors", begin.files, end.files],
                    ["sockets among them", begin.sockets, end.sockets],
                    ["objects of Python", begin.objects, end.objects],
                ],
            ),
            "",
            f"{tally.runs} runs with {len(tally.faults)} kinds of fault on {len(wires)} wires",
            "the slowest: {:.1f} s ({})".format(*tally.slowest),
            "the slowest end of a request to the provider after its run: {:.2f} s ({})".format(*tally.slowest_release),
            f"{book.lines} lines in the log, and besides: {dict(book.besides)}",
        ]
    )


def growth(soak: Soak) -> tuple[float, float]:
    """Memory in the first and in the last window, in bytes."""
    return soak.memory.windows(_WARM_UP, _WINDOW)


def breaches(soak: Soak, *, grown_up: bool) -> list[str]:
    """Whatever is wrong. Memory is judged where the soak was long enough for it to have grown up."""
    wrong = [f"{len(soak.tally.wrong)} breaches"] if soak.tally.wrong else []
    first, last = growth(soak)
    if grown_up and last > first * (1 + _MOST_GROWTH):
        wrong.append(f"memory has grown by {last / first - 1:.1%}")
    return wrong


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]
