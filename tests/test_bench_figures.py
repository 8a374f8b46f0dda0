"""The benchmark's table and verdicts say what the rounds found, and nothing where they say nothing."""

from pathlib import Path

import pytest
from bench.__main__ import has_failed
from bench.meter import Spent
from bench.results import METRICS, Figure, Machine, Range, Results, spread
from bench.table import table
from bench.targets import verdicts

MACHINE = Machine(cpu="a CPU", cores=2, memory_gib=8.0, kernel="Linux 6.1", python="CPython 3.11.2")


def figure(micros: float, *, void: str | None = None, saturated: bool = False, **more: float) -> Figure:
    return Figure({"micros": micros, **more}, void=void, saturated=saturated)


def results(measurement: str = "paced", **servers: list[Figure]) -> Results:
    found = Results(MACHINE, versions={}, rounds=3, date="2026-01-02T03:04Z")
    for name, figures in servers.items():
        for each in figures:
            found.add(name.replace("_", "-"), measurement, each)
    return found


def outcomes(name: str, measurement: str = "paced", **servers: list[Figure]) -> list[str]:
    """Of the CPU per token, paced; or of the first value of another measurement."""
    title = next(metric.title for metric in METRICS if metric.measurement == measurement)
    found = verdicts(results(measurement, **servers))
    return [line.rpartition(": ")[2] for line in found if line.startswith(f"verdict: {name}, {title}:")]


def test_sse_is_held_against_nginx_and_the_usual_way() -> None:
    sse = [figure(30.0)] * 3
    assert outcomes("sse", sse=sse, nginx=[figure(10.0)] * 3, usual=[figure(180.0)] * 3) == ["pass", "pass"]
    assert outcomes("sse", sse=sse, nginx=[figure(9.9)] * 3, usual=[figure(179.0)] * 3) == ["miss", "miss"]
    assert outcomes("sse", sse=sse, nginx=[figure(10.0)] * 3) == ["pass", "open"]
    assert outcomes("sse", sse=sse, nginx=[figure(10.0, void="busy")] * 3) == ["miss", "open"]
    assert outcomes("sse", "bursts", sse=sse, nginx=[figure(10.0)] * 3, usual=[figure(900.0)] * 3) == ["pass", "pass"]
    assert outcomes("sse", "one-token", sse=sse, nginx=[figure(2.5)] * 3, usual=[figure(270.0)] * 3) == ["pass", "pass"]
    assert outcomes("sse", "starts", sse=sse, nginx=[figure(2.4)] * 3) == ["miss"]


def test_other_wires_are_held_against_sse_and_grpc_against_a_bare_server() -> None:
    sse, bare = [figure(50.0)] * 3, [figure(25.0)] * 3
    assert outcomes("ndjson", sse=sse, ndjson=[figure(65.0)] * 3) == ["pass"]
    assert outcomes("ndjson", sse=sse, ndjson=[figure(66.0)] * 3) == ["miss"]
    assert outcomes("grpc-web", sse=sse, grpc_web=[figure(65.0)] * 3) == ["pass"]
    assert outcomes("grpc", grpc=[figure(50.0)] * 3, bare_grpc=bare) == ["pass"]
    assert outcomes("grpc", grpc=[figure(51.0)] * 3, bare_grpc=bare) == ["miss"]
    assert outcomes("grpc", grpc=[figure(1.0)]) == ["open"]


def test_memory_and_bytes_have_limits_of_their_own() -> None:
    def last(kib: float) -> str:
        return verdicts(results("memory", sse=[Figure({"kib": kib})]))[-1]

    assert last(32.0).endswith("pass")
    assert last(32.1).endswith("miss")
    lines = verdicts(results(sse=[figure(1.0, wire_bytes=60.4)]))
    assert lines[-1] == "verdict: sse, bytes per token on the wire: 60.4; target at most 60: miss"


def test_rounds_that_say_nothing_do_not_count() -> None:
    nginx, void = [figure(1.0)] * 3, figure(1.0, void="busy")
    assert outcomes("sse", sse=[figure(1.0)] * 3, nginx=nginx)[0] == "pass"
    assert outcomes("sse", sse=[void, void, figure(1.0)], nginx=nginx)[0] == "miss"
    assert outcomes("sse", sse=[figure(1.0, saturated=True)] * 3, nginx=nginx)[0] == "miss"
    assert outcomes("sse", sse=[Figure(fault="3 tokens lost")] * 3, nginx=nginx)[0] == "miss"
    # The one good round of nginx is the void one of ours.
    apart = verdicts(results(sse=[void, figure(1.0), figure(1.0)], nginx=[figure(1.0), void, void]))
    assert "nginx not measured" in apart[0]
    # The usual way, at the pace that it holds, is compared all the same.
    assert outcomes("sse", sse=[figure(1.0)], usual=[figure(9.0, saturated=True, rate=25)])[1] == "pass"


def test_the_table_has_medians_ranges_and_what_was_wrong() -> None:
    found = results(
        sse=[figure(40.0, wire_bytes=48.0), figure(42.0, wire_bytes=48.0), figure(1.0, void="busy")],
        usual=[figure(300.0, saturated=True, rate=25, wire_bytes=50.0)],
        json=[Figure(fault="3 tokens lost"), figure(1.0)],
        nginx=[figure(1.0, void="busy")],
    )
    assert table(found) == [
        "           µs/token paced  bytes/token",
        "  sse    41.0 (40.0–42.0)           48",
        "  usual            300.0*          50*",
        "  json             FAILED       FAILED",
        "  nginx              void         void",
        "  sse, paced: 1 of 3 rounds void: busy",
        "  usual, paced: * saturated in 1 of 1 rounds; down to 25 tokens a second",
        "  json, paced: FAILED in 1 of 2 rounds: 3 tokens lost",
        "  nginx, paced: 1 of 1 rounds void: busy",
    ]


def test_a_spread_is_of_usable_rounds() -> None:
    figures = [figure(3.0), figure(1.0), figure(99.0, void="busy"), Figure(fault="lost"), figure(2.0)]
    assert spread(figures, "micros") == Range(median=2.0, least=1.0, most=3.0)
    assert spread(figures, "p99") is None


def test_busy_callers_make_a_round_void() -> None:
    def spent(far_core: float) -> Spent:
        return Spent(seconds=1.0, cpu=0.5, far_core=far_core, far_waited=0.0, disturbance=0.0)

    assert spent(0.89).figure({}).void is None
    assert "91%" in (spent(0.91).figure({}).void or "")
    assert spent(0.91).figure({}, void="another reason").void == "another reason"


def test_results_are_written_and_read_again(tmp_path: Path) -> None:
    found = results(sse=[figure(40.0, void="busy", rate=50), Figure(fault="lost")])
    found.versions["sse"] = "deltawire 1"
    found.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == found


@pytest.mark.parametrize(("server", "failed"), [("sse", True), ("nginx", True), ("usual", False), ("article_a", False)])
def test_a_server_that_failed_fails_the_run_unless_it_is_one_of_others(server: str, failed: bool) -> None:
    lost = Figure(fault="a token was lost")
    assert has_failed(results("memory", **{server: [figure(1.0), lost]})) is failed
    assert not has_failed(results("memory", **{server: [figure(1.0, void="busy")]}))
