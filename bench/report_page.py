"""The part of ``docs/benchmarks.md`` that a run writes, between two lines of the page; the words around it stay."""

import textwrap
from collections.abc import Sequence

from bench import imports
from bench.report_plots import PLOTS, label, ordered, plot
from bench.results import METRICS, Metric, Results
from bench.table import cell, notes

BEGIN = "<!-- what make bench found: begin -->"
END = "<!-- what make bench found: end -->"
NOTHING_YET = "No run has been written here yet: `make bench` does it."

_LONGEST_NOTE = 200
"""Characters: a fault ends in what the server said last, which may be much."""
_OUTCOMES = {"pass": "met", "miss": "**missed**"}
_OF_ANSWERS = ("paced", "bursts", "one-token")


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
    answers = [metric for metric in METRICS if metric.value != "wire_bytes" and metric.measurement in _OF_ANSWERS]
    crowds = [metric for metric in METRICS if metric not in answers]
    return "\n".join(
        [
            f"Run on {results.date.replace('T', ' ').removesuffix('Z')} UTC, {results.rounds} rounds: {machine.cpu}, "
            f"{machine.cores} cores, {machine.memory_gib:.1f} GiB; {machine.kernel}; {machine.python}. "
            "All rounds: [results.json](benchmarks/results.json).",
            "",
            *_versions(results, names),
            "### The targets",
            "",
            *_targets(results.verdicts),
            "### Tokens and requests",
            "",
            *_table(results, names, answers),
            "### Many at once, and bytes",
            "",
            *_table(results, names, crowds),
            "### Starts",
            "",
            *_starts(results),
            *(
                f"- {_escaped(textwrap.shorten(_words(note), _LONGEST_NOTE, placeholder=' …'))}"
                for note in notes(results)
            ),
            "",
            "### Plots",
            "",
            *_pictures(results),
        ]
    )


def _versions(results: Results, names: Sequence[str]) -> list[str]:
    """Each row's name in the run, which the targets and the notes use, with what serves it."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(results.versions.get(name, ""), []).append(f"`{name}` ({label(name)})")
    told = [f"| {', '.join(rows)} | {_escaped(versions)} |" for versions, rows in alike.items()]
    about = [f"- `{name}`: {_escaped(results.about[name])}" for name in names if name in results.about]
    return ["| rows | served by |", "|---|---|", *told, "", *about, ""]


def _targets(verdicts: Sequence[str]) -> list[str]:
    lines = ["| figure and target | |", "|---|---|"]
    for verdict in verdicts:
        said, _, outcome = verdict.removeprefix("verdict: ").rpartition(": ")
        lines.append(f"| {_escaped(said)} | {_OUTCOMES.get(outcome, outcome)} |")
    return [*lines, ""]


def _table(results: Results, names: Sequence[str], metrics: Sequence[Metric]) -> list[str]:
    lines = [
        "| |" + "".join(f" {metric.title}, {metric.unit} |" for metric in metrics),
        "|---|" + "---:|" * len(metrics),
    ]
    for name in names:
        cells = [_escaped(cell(results.figures(name, metric.measurement), metric)) or "–" for metric in metrics]
        lines.append(f"| {label(name)} |" + "".join(f" {each} |" for each in cells))
    return [*lines, ""]


def _starts(results: Results) -> list[str]:
    lines = ["| |" + "".join(f" {metric.title}, {metric.unit} |" for metric in imports.METRICS), "|---|---:|---:|"]
    for name, figures in results.imports.items():
        cells = "".join(f" {_escaped(cell(figures, metric))} |" for metric in imports.METRICS)
        lines.append(f"| {imports.LABELS[name]} |{cells}")
    return [*lines, ""]


def _pictures(results: Results) -> list[str]:
    return [
        line
        for shown in PLOTS
        if plot(shown, results) is not None
        for line in (f"![{shown.title}, {shown.unit}](benchmarks/{shown.file}.svg)", "")
    ]


def _words(note: str) -> str:
    """Without what a server has drawn of letters."""
    return " ".join(word for word in note.split() if word.isascii() or any(map(str.isalnum, word)))


def _escaped(words: str) -> str:
    return words.replace("\n", " ").replace("|", "\\|").replace("*", "\\*")
