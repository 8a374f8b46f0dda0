"""What a run found becomes a page and plots whose every word and figure can be seen."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bench.report import PAGE, why_not, write
from bench.report_page import BEGIN, END, NOTHING_YET, figures, with_figures
from bench.report_plots import PLOTS, plot
from bench.report_svg import Plot, PlotRow, svg
from bench.results import MEASUREMENTS, Figure, Machine, Range, Results
from bench.servers import SERVERS

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER = 7.0
"""Pixels: the average of a label of 13 pixels in the widest fonts that systems have."""


def sample() -> Results:
    """Two rounds of four servers: one good, one saturated, one that failed, one that says nothing."""
    results = Results(
        Machine(cpu="A core", cores=2, memory_gib=7.8, kernel="Linux 6.1", python="CPython 3.11.7"),
        versions={"nginx": "nginx 1.22", "sse": "deltawire 0.1.0", "ndjson": "deltawire 0.1.0"},
        rounds=2,
        date="2026-11-30T21:20Z",
        about={"nginx": "passes the upstream's stream through"},
        verdicts=[
            "verdict: sse, CPU: 41.0 µs, 3.7 times nginx; target at most 3 times nginx: miss",
            "verdict: ndjson: pass",
        ],
    )
    for micros in (10.0, 12.0):
        results.add("nginx", "paced", Figure({"micros": micros, "wire_bytes": 285.0}))
        results.add("sse", "paced", Figure({"micros": 4 * micros, "wire_bytes": 55.0}))
        results.add("article-a", "paced", Figure({"micros": 100 * micros, "rate": 6.25}, saturated=True))
        results.add("litellm", "paced", Figure(fault=f"3 tokens lost | and more {'much ' * 99}"))
        results.add("usual", "paced", Figure({"micros": 1.0}, void="a busy machine"))
        results.add("sse", "starts", Figure({"micros": 400.0, "p50": 20.0, "p99": 41.25}))
    results.add("sse", "memory", Figure({"kib": 22.5}))
    results.imports = {"help": [Figure({"cpu_ms": each, "wall_ms": each + 1}) for each in (120.0, 130.0)]}
    return results


def test_the_page_tells_medians_with_their_ranges_and_what_has_no_figure() -> None:
    lines = figures(sample()).splitlines()
    assert lines[0] == (
        "Run on 2026-11-30 21:20 UTC, 2 rounds: A core, 2 cores, 7.8 GiB; Linux 6.1; CPython 3.11.7. "
        "All rounds: [results.json](benchmarks/results.json)."
    )
    assert "| `sse` (deltawire, SSE), `ndjson` (deltawire, NDJSON) | deltawire 0.1.0 |" not in lines  # not measured
    assert "| `sse` (deltawire, SSE) | deltawire 0.1.0 |" in lines
    assert "- `nginx`: passes the upstream's stream through" in lines
    assert "| sse, CPU: 41.0 µs, 3.7 times nginx; target at most 3 times nginx | **missed** |" in lines
    assert "| ndjson | met |" in lines
    assert "| `deltawire --help` | 125 (120–130) | 126 (121–131) |" in lines
    assert "| nginx, passing through | 11.0 (10.0–12.0) | – | – | – | – |" in lines
    assert "| blocking client, pauses | 1100.0 (1000.0–1200.0)\\* | – | – | – | – |" in lines
    assert "| LiteLLM proxy | FAILED | – | – | – | – |" in lines
    assert "| FastAPI + OpenAI SDK | void | – | – | – | – |" in lines
    assert "| deltawire, SSE | 400 | 20.0 | 41.2 | 22.5 | 55 |" in lines
    (fault,) = (line for line in lines if "3 tokens lost \\| and more" in line)
    assert fault.endswith("much …")
    assert len(fault) < 210


def test_a_page_keeps_its_words_and_gets_its_figures() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert with_figures(page, "new\n") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    for bad in ("no line", f"{END}{BEGIN}", f"{BEGIN}{END}{BEGIN}", f"{BEGIN}{END}{END}"):
        with pytest.raises(ValueError, match="once"):
            with_figures(bad, "new")


def test_a_plot_without_any_figure_is_none() -> None:
    results = Results(sample().machine, versions={}, rounds=1, date="")
    results.add("sse", "paced", Figure(void="a busy machine"))
    assert plot(PLOTS[0], results) is None


def texts(picture: str) -> list[ET.Element]:
    return list(ET.fromstring(picture).iter(f"{SVG}text"))


def test_a_plot_shows_each_server_with_its_figure_in_words() -> None:
    paced = plot(PLOTS[0], sample())
    assert paced is not None
    assert [(row.label, row.words) for row in paced.rows] == [
        ("nginx, passing through", "11.0 (10.0–12.0)"),
        ("deltawire, SSE", "44.0 (40.0–48.0)"),
        ("FastAPI + OpenAI SDK", "no usable round"),
        ("blocking client, pauses", "1,100 (1,000–1,200), saturated, at 6.25 tokens/s"),
        ("LiteLLM proxy", "failed"),
    ]
    said = [text.text for text in texts(svg(paced))]
    assert {word for row in paced.rows for word in (row.label, row.words)} <= set(said)
    assert "µs; medians, and least to most of the rounds; logarithmic axis; less is better" in said


def test_no_text_of_a_plot_is_cut_and_none_lies_upon_another() -> None:
    for shown in PLOTS:
        drawn = plot(shown, sample())
        if drawn is None:
            continue
        picture = ET.fromstring(svg(drawn))
        width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
        placed: dict[str, float] = {}
        for text in sorted(picture.iter(f"{SVG}text"), key=lambda text: (text.attrib["y"], float(text.attrib["x"]))):
            long = len(text.text or "") * CHARACTER
            x = float(text.attrib["x"]) - {"end": long, "middle": long / 2}.get(text.get("text-anchor", ""), 0)
            assert x >= placed.get(text.attrib["y"], 0), text.text
            assert x + long <= width, text.text
            assert 12 <= float(text.attrib["y"]) <= height - 6, text.text
            placed[text.attrib["y"]] = x + long


def circles(picture: str) -> list[float]:
    """Where the dots of the rows are, from left to right of the first series."""
    found = ET.fromstring(picture).iter(f"{SVG}circle")
    return [float(circle.attrib["cx"]) for circle in found if float(circle.attrib["cy"]) > 84]


def row(*medians: float) -> PlotRow:
    return PlotRow("a", "ours", [Range(each, each, each) for each in medians], "")


def test_ten_times_as_much_is_as_far_on_a_logarithmic_axis_and_a_whisker_goes_from_least_to_most() -> None:
    one, ten, hundred = circles(svg(Plot("t", "µs", [row(1), row(10), row(100)])))
    assert ten - one == pytest.approx(hundred - ten, abs=0.2)  # pixels, rounded to a tenth
    ranged = svg(Plot("t", "µs", [PlotRow("a", "ours", [Range(10, 1, 100)], "")]))
    (whisker,) = [
        path.attrib["d"] for path in ET.fromstring(ranged).iter(f"{SVG}path") if "whisker" in path.attrib["class"]
    ]
    assert whisker.startswith(f"M{one:.1f} ")
    assert f"H{hundred:.1f}" in whisker


def test_an_axis_of_like_values_begins_at_zero() -> None:
    one, two, three = circles(svg(Plot("t", "KiB", [row(20), row(40), row(60)])))
    assert two - one == pytest.approx(three - two, abs=0.2)
    assert "0" in [text.text for text in texts(svg(Plot("t", "KiB", [row(20), row(60)])))]


def test_what_is_not_above_zero_stands_at_the_beginning_of_the_axis() -> None:
    none, less, one, hundred = circles(svg(Plot("t", "ms", [row(0), row(-3), row(1), row(100)])))
    assert none == less == one < hundred
    none, some = circles(svg(Plot("t", "ms", [row(0), row(2)])))
    assert none < some
    assert circles(svg(Plot("t", "ms", [row(0)])))


def test_words_of_others_are_no_markup() -> None:
    assert "a<b & c" in [text.text for text in texts(svg(Plot("a<b & c", "µs", [row(1)])))]


def test_only_a_whole_run_becomes_the_page() -> None:
    whole = Results(sample().machine, versions={}, rounds=5, date="2026-11-30T21:20Z")
    for server in SERVERS:
        for measurement in MEASUREMENTS:
            whole.add(server.name, measurement, Figure({"micros": 1.0}))
    assert why_not(whole) == "not measured: imports"
    whole.imports = {"help": [Figure({"cpu_ms": 1.0, "wall_ms": 1.0})]}
    assert why_not(whole) is None
    assert "short" in (why_not(Results(whole.machine, {}, 1, "", short=True, servers=whole.servers)) or "")
    skipped = Results(whole.machine, {}, 5, "", servers=whole.servers, skipped={"litellm": "make bench-peers"})
    assert why_not(skipped) == "litellm was not measured, make bench-peers"
    assert why_not(sample()) is not None
    whole.servers["sse"]["bursts"] += [Figure(void="a busy machine")] * 8
    assert why_not(whole) == f"8 of {8 + len(SERVERS) * len(MEASUREMENTS)} rounds are void, the machine was busy"
    del whole.servers["grpc"]
    assert why_not(whole) == "not measured: grpc"


def test_a_run_is_written_with_its_plots_and_the_file_that_makes_them_again(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "bursts.svg").write_text("an older run's")
    write(sample(), page)
    names = sorted(path.name for path in (tmp_path / "benchmarks").iterdir())
    assert names == ["first-token.svg", "memory.svg", "paced.svg", "results.json"]
    assert Results.read(tmp_path / "benchmarks" / "results.json") == sample()
    assert all(f"(benchmarks/{name})" in page.read_text() for name in names if name.endswith(".svg"))


def test_every_figure_of_the_page_is_of_the_run_that_lies_beside_it() -> None:
    page, folder = PAGE.read_text(), PAGE.with_suffix("")
    file = folder / "results.json"
    if not file.exists():
        assert page == with_figures(page, NOTHING_YET)
        assert not list(folder.glob("*.svg"))
        return
    results = Results.read(file)
    assert page == with_figures(page, figures(results))
    drawn = {f"{shown.file}.svg": svg(found) for shown in PLOTS if (found := plot(shown, results)) is not None}
    assert drawn == {path.name: path.read_text() for path in folder.glob("*.svg")}
