"""The part of ``docs/benchmarks.md`` that a run writes, between two lines of the page; the words around it stay."""

from collections.abc import Sequence

from bench.report_plots import PLOTS, label, ordered, pace_held, plot
from bench.results import METRICS, Figure, Metric, Results, spread

BEGIN = "<!-- what make bench found: begin -->"
END = "<!-- what make bench found: end -->"
NOTHING_YET = "No run has been written here yet: `make bench` does it."


def with_figures(page: str, figures: str) -> str:
    """The page with these figures in it. Raises ``ValueError`` where it does not hold the two lines once each."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in before + after:
        raise ValueError(f"the page has to hold {BEGIN} and {END}, each once and in that order")
    return f"{before}{BEGIN}\n\n{figures.strip()}\n\n{END}{after}"


def figures(results: Results) -> str:
    """In Markdown: the machine, what was measured, the plots, the tables, the targets."""
    machine = results.machine
    names = ordered(list(results.servers))
    costs = [metric for metric in METRICS if metric.unit == "µs"]
    others = [metric for metric in METRICS if metric.unit != "µs"]
    return "\n".join(
        [
            f"Run on {results.date.replace('T', ' ').removesuffix('Z')} UTC, {results.rounds} rounds: {machine.cpu}, "
            f"{machine.cores} cores, {machine.memory_gib:.1f} GiB; Linux {machine.kernel}; Python {machine.python}.",
            "",
            *_versions(results, names),
            "### The targets",
            "",
            *_targets(results.verdicts),
            "### CPU of the server",
            "",
            *_table(results, names, costs),
            "### Times, memory and bytes",
            "",
            *_table(results, names, others),
            *_notes(results, names),
            "### Plots",
            "",
            *_pictures(results),
        ]
    )


def _versions(results: Results, names: Sequence[str]) -> list[str]:
    lines = ["| row | what it is | versions |", "|---|---|---|"]
    told = (f"| {label(name)} | {results.about.get(name, '')} | {results.versions.get(name, '')} |" for name in names)
    return [*lines, *told, ""]


def _targets(verdicts: Sequence[str]) -> list[str]:
    lines = ["| figure and target | |", "|---|---|"]
    for verdict in verdicts:
        said, _, outcome = verdict.removeprefix("verdict: ").rpartition(": ")
        lines.append(f"| {_cell(said)} | {'met' if outcome == 'pass' else '**missed**'} |")
    return [*lines, ""]


def _table(results: Results, names: Sequence[str], metrics: Sequence[Metric]) -> list[str]:
    lines = [
        "| |" + "".join(f" {metric.title}, {metric.unit} |" for metric in metrics),
        "|---|" + "---:|" * len(metrics),
    ]
    for name in names:
        cells = [_found(results.figures(name, metric.measurement), metric) for metric in metrics]
        lines.append(f"| {label(name)} |" + "".join(f" {cell} |" for cell in cells))
    return [*lines, ""]


def _found(figures: Sequence[Figure], metric: Metric) -> str:
    if any(figure.fault is not None for figure in figures):
        return "failed"
    found = spread(figures, metric.value)
    if found is None:
        return "void" if figures else "–"
    middle, least, most = (f"{each:,.{metric.digits}f}" for each in (found.median, found.least, found.most))
    starred = " \\*" if pace_held(figures) else ""
    return (middle if least == most else f"{middle} ({least}–{most})") + starred


def _notes(results: Results, names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        for measurement, rounds in results.servers[name].items():
            void = [figure.void for figure in rounds if figure.void is not None]
            faults = [figure.fault for figure in rounds if figure.fault is not None]
            found += [
                f"{label(name)}, {measurement}: failed in {len(faults)} of {len(rounds)} rounds: {fault}"
                for fault in faults[:1]
            ]
            found += [
                f"{label(name)}, {measurement}: {len(void)} of {len(rounds)} rounds void: {why}" for why in void[:1]
            ]
            if (held := pace_held(rounds)) is not None:
                found.append(f"\\* {label(name)}, {measurement}: {held}")
    return [*(f"- {_cell(note)}" for note in found), ""] if found else []


def _pictures(results: Results) -> list[str]:
    return [
        line
        for shown in PLOTS
        if plot(shown, results) is not None
        for line in (f"![{shown.title}, {shown.unit}](benchmarks/{shown.file}.svg)", "")
    ]


def _cell(words: str) -> str:
    return words.replace("\n", " ").replace("|", "\\|")
