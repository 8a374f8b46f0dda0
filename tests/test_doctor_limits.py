"""Which limits contradict each other, and whether somebody meant it."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import structs

from deltawire.bootstrap.doctor.limits import InForce, contradictions
from deltawire.domain.limits import Timeouts
from deltawire.settings import Settings

Told = list[tuple[str, str, str]]


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.upper().startswith(("DELTAWIRE_", "OPENAI_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def loaded(toml: str = "") -> Settings:
    Path("deltawire.toml").write_text(toml)
    return Settings.load()


def one(
    name: str = "f",
    timeouts: Mapping[str, float] | None = None,
    *,
    model: str = "local:smollm2",
    max_tokens: int | None = None,
) -> InForce:
    limits = Timeouts.model_validate(timeouts or {})
    return InForce(
        function=name, timeouts=limits, max_tokens=max_tokens, max_answer_bytes=4 * 1024 * 1024, models=(model,)
    )


def told(toml: str, *functions: InForce) -> Told:
    """Level, place, and the message up to its first colon or comma."""
    found = contradictions(loaded(toml), functions or [one()])
    return [(each.level, each.where, each.message.split(",")[0].split(":")[0]) for each in found]


def test_the_defaults_do_not_contradict_each_other() -> None:
    assert told("", one(), one("g", model="openai:m", max_tokens=4000)) == []


@pytest.mark.parametrize(
    ("timeouts", "expected"),
    [
        ({"first_token": 400}, [("timeouts.first_token of f", "first_token (400 s) is longer than total (300 s)")]),
        ({"idle": 301}, [("timeouts.idle of f", "idle (301 s) is longer than total (300 s)")]),
        ({"connect": 61}, [("timeouts.connect of f", "connect (61 s) is longer than first_token (60 s)")]),
        ({"first_token": 300, "idle": 300}, []),
    ],
)
def test_a_limit_that_is_never_reached_is_a_trouble(
    timeouts: dict[str, float], expected: list[tuple[str, str]]
) -> None:
    assert told("", one("f", timeouts)) == [("trouble", *each) for each in expected]


def test_where_only_a_default_is_longer_it_is_a_note() -> None:
    assert told("", one("f", {"total": 20})) == [
        ("note", "timeouts.first_token of f", "first_token (60 s) is longer than total (20 s)"),
        ("note", "timeouts.idle of f", "idle (30 s) is longer than total (20 s)"),
    ]


def test_functions_with_the_same_contradiction_share_a_finding() -> None:
    [finding] = told("", one("a", {"idle": 400}), one("b"), one("c", {"idle": 400}))
    assert finding[1] == "timeouts.idle of a, c"


@pytest.mark.parametrize(
    ("toml", "function", "expected"),
    [
        (
            "[http]\nstatus_hold = 20",
            one("f", {"total": 15, "first_token": 9, "idle": 9}),
            ("trouble", "http.status_hold of f"),
        ),
        ("", one("f", {"total": 5, "first_token": 5, "idle": 5}), ("note", "http.status_hold of f")),
        ("[http]\nstatus_hold = 60", one(), ("trouble", "http.status_hold")),
        ("[http]\nheartbeat = 60", one(), ("trouble", "http.heartbeat")),
        ("port = 9000\ngrpc_port = 9000", one(), ("trouble", "port")),
        ("[providers.openai]\nmax_event_bytes = 9", one(model="openai:m"), ("trouble", "max_answer_bytes of f")),
        ("", one(max_tokens=4096), ("trouble", "max_tokens of f")),
        ("[local]\ncontext = 300", one(max_tokens=300), ("trouble", "max_tokens of f")),
    ],
)
def test_limits_of_different_rooms_are_compared(toml: str, function: InForce, expected: tuple[str, str]) -> None:
    assert [finding[:2] for finding in told(toml, function)] == [expected]


def test_ports_that_are_off_are_not_the_same() -> None:
    assert told('port = "off"\ngrpc_port = 0') == []


@pytest.mark.parametrize(("hedge_after", "level"), [(None, []), (59.0, []), (60.0, ["trouble"]), (90.0, ["trouble"])])
def test_a_second_attempt_that_never_comes_is_a_trouble(hedge_after: float | None, level: list[str]) -> None:
    never = structs.replace(one(), hedge_after=hedge_after)
    assert [found[0] for found in told("", never) if found[1].startswith("hedge_after")] == level
