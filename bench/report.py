"""``python -m bench.report RESULTS``: puts what a run found into ``docs/benchmarks.md``, with its plots beside it.

Only a whole run on a quiet machine is put there: the full form, with every server. Others leave the page as it is, and
say why.
"""

import argparse
import sys
from pathlib import Path

from bench import imports
from bench.report_page import figures, with_figures
from bench.report_plots import PLOTS, plot
from bench.report_svg import svg
from bench.results import MEASUREMENTS, Results
from bench.servers import SERVERS

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description="Write docs/benchmarks.md's figures.")
    parser.add_argument("results", type=Path, help="what python -m bench --json has written")
    results = Results.read(parser.parse_args().results)
    unfinished = why_not(results)
    if unfinished is not None:
        print(f"{PAGE.name} is left as it is: {unfinished}")
        return 0
    write(results, PAGE)
    print(f"{PAGE.name} and its plots are those of this run")
    return 0


def why_not(results: Results) -> str | None:
    """What keeps the run from being a page."""
    if results.short:
        return "the short form shows that all works, its figures are no figures"
    if results.skipped:
        return "; ".join(f"{name} was not measured, {why}" for name, why in results.skipped.items())
    missing = [server.name for server in SERVERS if server.name not in results.servers]
    missing += [name for name in MEASUREMENTS if not any(name in measured for measured in results.servers.values())]
    missing += [] if results.imports else [imports.NAME]
    if missing:
        return f"not measured: {', '.join(missing)}"
    rounds = [figure for measured in results.servers.values() for of in measured.values() for figure in of]
    void = sum(figure.void is not None for figure in rounds)
    return f"{void} of {len(rounds)} rounds are void, the machine was busy" if void > len(rounds) / 10 else None


def write(results: Results, page: Path) -> None:
    """The figures into the page; the plots and the run's own file, which makes them again, into a folder beside it."""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    page.write_text(with_figures(page.read_text(), figures(results)))
    for shown in PLOTS:
        drawn = plot(shown, results)
        picture = folder / f"{shown.file}.svg"
        picture.unlink(missing_ok=True)
        if drawn is not None:
            picture.write_text(svg(drawn))
    results.write(folder / "results.json")


if __name__ == "__main__":
    sys.exit(main())
