"""The benchmark of starts: each row does what it says, and a start that fails is no figure."""

import sys

import pytest
from bench.imports import Row, measure, start, verdicts, whole
from bench.results import Figure

pytestmark = pytest.mark.anyio


async def test_each_start_is_made_in_each_round() -> None:
    figures = await measure(1)
    assert {name: [figure.fault for figure in rounds] for name, rounds in figures.items()} == {
        "lambda": [None],
        "openai+boto3": [None],
        "help": [None],
        "fastapi": [None],
        "serve": [None],
    }
    assert all(figure.values["cpu_ms"] > 0 for rounds in figures.values() for figure in rounds)


def test_a_start_that_fails_is_no_figure() -> None:
    failed = start(Row([sys.executable, "-c", "import sys; sys.exit('no such parameter')"], {}, whole))
    assert failed == Figure(fault="it ended with 1: no such parameter")
    assert verdicts({"lambda": [failed], "openai+boto3": cost(1000)})[0] == (
        "verdict: start of lambda: no figure beside openai+boto3: miss"
    )


def cost(*milliseconds: float) -> list[Figure]:
    return [Figure(values={"cpu_ms": each, "wall_ms": each}) for each in milliseconds]


def test_a_verdict_compares_medians() -> None:
    assert verdicts(
        {
            "lambda": cost(400, 500, 900),
            "openai+boto3": cost(1000, 1000, 1001),
            "help": cost(101),
            "fastapi": cost(200),
        }
    ) == [
        "verdict: start of lambda: 500 ms of CPU, 0.50 of openai+boto3's 1000; target at most 0.5: pass",
        "verdict: start of help: 101 ms of CPU, 0.51 of fastapi's 200; target at most 0.5: miss",
    ]
