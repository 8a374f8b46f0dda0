"""One plot as SVG: a row for each server, its median as a dot with a whisker from least to most, its figure in words.

Text is measured by its characters, generously, for a picture does not know its reader's font. Colours follow the
reader's light or dark.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from bench.results import Range

_CHARACTER = 7.2
"""Pixels that a character of 13 pixels takes at most, on average over a label."""
_ROW = 26
_PLOT = 400
_EDGE = 16
_TICKS_MOST = 6
_WIDEST = 1e5
"""From the beginning of a logarithmic axis to its end, at most."""
_NARROWEST = 760
"""So that the plots of a page are of one width, where their words let them."""

Group = Literal["ours", "limit", "others"]

_GROUPS: dict[Group, str] = {"ours": "deltawire", "limit": "yardstick", "others": "others"}

_STYLE = """
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#27272a}
.title{font-weight:600;font-size:15px}.quiet{fill:#52525b;font-size:12px}
.paper{fill:#fff}.grid{stroke:#e4e4e7}
.ours{fill:#1d4ed8;stroke:#1d4ed8}.limit{fill:#52525b;stroke:#52525b}.others{fill:#c2410c;stroke:#c2410c}
.hollow{fill:#fff}.whisker{stroke-width:2}.dot{stroke-width:2}
@media (prefers-color-scheme:dark){
text{fill:#e4e4e7}.quiet{fill:#a1a1aa}.paper{fill:#18181b}.grid{stroke:#3f3f46}
.ours{fill:#60a5fa;stroke:#60a5fa}.limit{fill:#a1a1aa;stroke:#a1a1aa}.others{fill:#fb923c;stroke:#fb923c}
.hollow{fill:#18181b}
}
"""


@dataclass(frozen=True, slots=True)
class PlotRow:
    """``marks``: a range for each of the plot's series; none where there is no figure, which ``words`` explain."""

    label: str
    group: Group
    marks: Sequence[Range]
    words: str


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    unit: str
    rows: Sequence[PlotRow]
    series: tuple[str, ...] = ("median",)
    """What the marks of a row are, the first one filled, the second hollow."""


def svg(plot: Plot) -> str:
    """The whole picture. Its axis is logarithmic where the rows lie more than ten times apart, else it begins at 0."""
    left = _EDGE + _width(max(len(row.label) for row in plot.rows)) + 12
    right = left + _PLOT + 20
    words = right + _width(max(len(row.words) for row in plot.rows))
    width = math.ceil(max(words + _EDGE, _heading_width(plot) + _EDGE, _NARROWEST))
    top = 84
    bottom = top + _ROW * len(plot.rows)
    height = bottom + 34
    ranges = [mark for row in plot.rows for mark in row.marks]
    axis = _Axis([each for mark in ranges for each in (mark.least, mark.most) if each > 0], left)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="{escape(plot.title)}">',
        f"<title>{escape(plot.title)}</title><style>{_STYLE.strip()}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="6"/>',
        _text(_EDGE, 26, plot.title, "title"),
        _text(_EDGE, 45, _subtitle(plot, logarithmic=axis.logarithmic), "quiet"),
        *_legend(plot),
    ]
    for tick in axis.ticks():
        x = axis.x(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>')
        parts.append(_text(x, bottom + 18, f"{tick:,g}", "quiet", "middle"))
    for number, row in enumerate(plot.rows):
        y = top + _ROW * number + _ROW / 2
        parts.append(_text(left - 12, y + 4.5, row.label, anchor="end"))
        parts += _marks(row, axis, y)
        parts.append(_text(right, y + 4.5, row.words))
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """Values to pixels, over all that is drawn."""

    def __init__(self, values: Sequence[float], left: float) -> None:
        self._left = left
        most = max(values, default=1.0)
        # A time that is added may be none, or less: it stands at the beginning of the axis.
        least = min((value for value in values if value >= most / _WIDEST), default=most)
        self.logarithmic = most > 10 * least
        self._least = 10 ** math.floor(math.log10(least)) if self.logarithmic else 0.0
        self._step = _step(most)
        self._most = (
            min(tick for tick in _decades(self._least) if tick >= most)
            if self.logarithmic
            else self._step * math.ceil(most / self._step)
        )

    def x(self, value: float) -> float:
        value = max(value, self._least)
        if self.logarithmic:
            share = math.log(value / self._least) / math.log(self._most / self._least)
        else:
            share = value / self._most
        return self._left + _PLOT * share

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            return [self._step * number for number in range(round(self._most / self._step) + 1)]
        every = [tick for tick in _decades(self._least) if tick <= self._most]
        narrowest = min(self.x(right) - self.x(left) for left, right in itertools.pairwise(every))
        crowded = narrowest < _width(len(f"{every[-1]:,g}"))
        return every[::3] if crowded else every  # the powers of ten alone


def _decades(least: float) -> list[float]:
    """1, 2 and 5 of each power of ten from there on, more of them than any figure needs."""
    return [least * factor * 10**power for power in range(9) for factor in (1, 2, 5)]


def _step(most: float) -> float:
    """Between two ticks of an axis from 0: 1, 2 or 5 of a power of ten."""
    return next(step for step in _decades(10 ** (math.floor(math.log10(most)) - 1)) if most / step <= _TICKS_MOST)


def _marks(row: PlotRow, axis: _Axis, y: float) -> list[str]:
    parts: list[str] = []
    for number, mark in enumerate(row.marks):
        least, most, x = axis.x(mark.least), axis.x(mark.most), axis.x(mark.median)
        ends = f"M{least:.1f} {y - 5}v10M{least:.1f} {y}H{most:.1f}M{most:.1f} {y - 5}v10"
        parts.append(f'<path class="whisker {row.group}" d="{ends}"/>')
        parts.append(_dot(x, y, row.group, hollow=number > 0))
    return parts


def _legend(plot: Plot) -> list[str]:
    parts: list[str] = []
    x = float(_EDGE + 5)
    for group in _groups(plot):
        parts += [_dot(x, 65, group), _text(x + 11, 69.5, _GROUPS[group], "quiet")]
        x += 11 + _width(len(_GROUPS[group])) + 20
    for number, series in enumerate(plot.series if len(plot.series) > 1 else ()):
        parts += [_dot(x, 65, "limit", hollow=number > 0), _text(x + 11, 69.5, series, "quiet")]
        x += 11 + _width(len(series)) + 20
    return parts


def _groups(plot: Plot) -> list[Group]:
    """Those that it shows."""
    return [group for group in _GROUPS if any(row.group == group for row in plot.rows)]


def _heading_width(plot: Plot) -> float:
    named = [*(_GROUPS[group] for group in _groups(plot)), *plot.series]
    legend = sum(31 + _width(len(name)) for name in named)
    return _EDGE + max(legend, _width(len(plot.title)) * 1.2, _width(len(_subtitle(plot, logarithmic=True))))


def _subtitle(plot: Plot, *, logarithmic: bool) -> str:
    axis = "logarithmic axis" if logarithmic else "axis from 0"
    return f"{plot.unit}; medians, and least to most of the rounds; {axis}; less is better"


def _dot(x: float, y: float, group: Group, *, hollow: bool = False) -> str:
    return f'<circle class="dot {group}{" hollow" if hollow else ""}" cx="{x:.1f}" cy="{y:g}" r="4"/>'


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    classed = f' class="{kind}"' if kind else ""
    placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:g}"{classed}{placed}>{escape(words)}</text>'


def _width(characters: int) -> float:
    return characters * _CHARACTER
