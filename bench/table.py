"""What the benchmark prints of each server: the median with its range, and what was wrong with the rounds."""

from collections.abc import Sequence
from statistics import median

from bench.paced import Figure


def row(name: str, figures: Sequence[Figure]) -> str:
    """One line for one server."""
    faults = [figure.fault for figure in figures if figure.fault is not None]
    if faults:
        return f"  {name:<12} FAILED in {len(faults)} of {len(figures)} rounds: {faults[0]}"
    good = usable(figures)
    notes = _notes(figures)
    if not good:
        return f"  {name:<12} no usable round: {notes}"
    cost = spread([figure.micros for figure in good])
    kept = median(figure.pace_kept for figure in good)
    far = median(figure.far_core for figure in good)
    return f"  {name:<12} {cost:>24} µs a token   pace {kept:4.0%}   callers' core {far:3.0%}   {notes}".rstrip()


def usable(figures: Sequence[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.fault is None and not figure.void]


def spread(values: Sequence[float]) -> str:
    """Median, and least to most."""
    return f"{median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def _notes(figures: Sequence[Figure]) -> str:
    notes: list[str] = []
    void = sum(figure.void for figure in figures)
    together = max(figure.together for figure in figures)
    saturated = sum(figure.saturated for figure in usable(figures))
    disturbance = max(figure.disturbance for figure in figures)
    if void:
        notes.append(f"{void} of {len(figures)} rounds void, the machine was busy")
    if saturated:
        notes.append(f"saturated in {saturated} of {len(figures)} rounds")
    if together > 0.01:
        notes.append(f"up to {together:.0%} of the tokens came together with others")
    if disturbance > 0.1:
        notes.append(f"the server waited up to {disturbance:.0%} of the time for its core")
    return "; ".join(notes)
