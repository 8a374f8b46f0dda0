"""Waits of every kind, each with its own limit, and retries that never bill twice."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.matrix.answers import answer
from tests.matrix.notation import Call
from tests.matrix.provider import Provider
from tests.matrix.reply import Reply
from tests.matrix.server import Server, serving
from tests.matrix.stage import Matrix, in_process
from tests.matrix.transports import RPC, TRANSPORTS
from tests.upstream import (
    Step,
    comment,
    delay,
    done,
    error_reply,
    finish,
    head,
    role,
    silence,
    text,
    usage,
)
from tests.upstream import answer as says
from tests.upstream import close as drops
from tests.waits import seconds

pytestmark = pytest.mark.anyio

FIRST, IDLE, CONNECT = seconds(150, 1.5), seconds(10, 0.5), seconds(5, 0.5)
LIMITS = {
    "DELTAWIRE_PROVIDERS__OPENAI__KEEP_ALIVE": "4",
    "DELTAWIRE_TIMEOUTS__TOTAL": f"{seconds(900, 30)}",
    "DELTAWIRE_FUNCTIONS__THINKS__TIMEOUTS__FIRST_TOKEN": f"{FIRST}",
    "DELTAWIRE_FUNCTIONS__THINKS__TIMEOUTS__IDLE": f"{IDLE}",
    "DELTAWIRE_FUNCTIONS__DEAF__TIMEOUTS__CONNECT": f"{CONNECT}",
}
APP = Path(__file__).parent / "patience_app.py"
END = (finish("stop"), usage(9, 2), done())
every_transport = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.fixture(scope="module")
def patient_server(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("patient"), {**environment, **LIMITS}, APP) as server:
        yield server


@pytest.fixture
async def patient(
    provider: Provider,
    patient_server: Server,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> AsyncGenerator[Matrix]:
    """The matrix on the functions of ``patience_app.py``."""
    monkeypatch.chdir(tmp_path)
    for name, value in {**environment, **LIMITS}.items():
        monkeypatch.setenv(name, value)
    await provider.begin()
    patient_server.log.new()
    core, records = in_process(APP)
    yield Matrix(provider, patient_server, core, records)
    await core.close()


async def everywhere(on: Matrix, call: Call, *steps: Step) -> dict[str, Reply]:
    """The replies of all transports to one call, made at the same time: what takes long is waited for once."""
    on.provider.always(*steps)
    replies = await asyncio.gather(*(on.caller(transport).call(call) for transport in TRANSPORTS))
    return dict(zip(TRANSPORTS, replies, strict=True))


def outcomes(on: Matrix) -> dict[str, list[str]]:
    """What became of the runs, each with its message, by the transport's name in the log."""
    lines = [*on.logged("json"), *on.logged("engine")]
    assert len(lines) == len(TRANSPORTS)
    return {line["outcome"]: sorted({line.get("message", "") for line in lines}) for line in lines}


@pytest.mark.waits
async def test_tr_01_a_model_that_thinks_for_long_and_then_is_fast_is_waited_for(patient: Matrix) -> None:
    """The first token comes later than any two of them may be apart."""
    replies = await everywhere(patient, Call("thinks"), head(), role(), delay(2 * IDLE), text("one"), text("two"), *END)
    assert {answer(*reply) for reply in replies.items()} == {"onetwo"}


@pytest.mark.waits
async def test_tr_01_a_slow_stream_that_goes_on_is_never_cut(patient: Matrix) -> None:
    """All of it takes longer than the first token may, and than two may be apart."""
    pieces = round(seconds(120, 12))
    slow = [step for _ in range(pieces) for step in (delay(seconds(5, 0.2)), text("x"))]
    replies = await everywhere(patient, Call("thinks"), head(), text("x"), *slow, *END)
    assert pieces * seconds(5, 0.2) > max(FIRST, IDLE)
    assert {answer(*reply) for reply in replies.items()} == {"x" * (pieces + 1)}


@pytest.mark.waits
async def test_tr_01_a_model_that_falls_silent_meets_the_idle_limit(patient: Matrix) -> None:
    await everywhere(patient, Call("thinks"), head(), text("one"), text("two"), silence())
    assert outcomes(patient) == {
        "idle_timeout": [f"the model fell silent in the middle of its answer within {IDLE:g} s (limit: idle)"]
    }
    assert len(patient.provider.exchanges) == len(TRANSPORTS)  # nothing is tried again after content


@pytest.mark.waits
async def test_tr_01_heartbeats_alone_meet_the_limit_of_the_first_token(patient: Matrix) -> None:
    await everywhere(patient, Call("thinks"), head(), *[delay(FIRST / 20), comment("on")] * 40, silence())
    assert outcomes(patient) == {
        "first_token_timeout": [f"the model said nothing within {FIRST:g} s (limit: first_token)"]
    }
    assert len(patient.provider.exchanges) == len(TRANSPORTS)


@pytest.mark.waits
async def test_tr_01_a_server_that_never_accepts_meets_the_connect_limit(patient: Matrix) -> None:
    await everywhere(patient, Call("deaf"))
    ((outcome, (message,)),) = outcomes(patient).items()
    assert (outcome, message) == (
        "connect_timeout",
        f"no connection to the provider within {CONNECT:g} s (limit: connect)",
    )


@every_transport
async def test_tr_02_a_connection_that_is_lost_after_the_request_is_not_asked_again(
    patient: Matrix, transport: str
) -> None:
    patient.provider.always(delay(0.2), drops())
    await patient.caller(transport).call(Call("retries"))
    (line,) = patient.logged(transport)
    assert (line["outcome"], line["attempts"]) == ("outcome_unknown", 1)
    assert len(patient.provider.exchanges) == 1


@every_transport
async def test_tr_02_a_refused_connection_is_tried_again(patient: Matrix, transport: str) -> None:
    await patient.caller(transport).call(Call("refused"))
    (line,) = patient.logged(transport)
    assert (line["outcome"], line["attempts"]) == ("upstream_unreachable", 3)


@every_transport
async def test_tr_02_a_kept_connection_that_was_closed_is_no_failure(patient: Matrix, transport: str) -> None:
    patient.provider.always(says("Hello"))
    caller = patient.caller(transport)
    assert answer(transport, await caller.call(Call("retries"))) == "Hello"
    patient.provider.drop_next_reuse()
    dropped = patient.provider.dropped
    assert answer(transport, await caller.call(Call("retries"))) == "Hello"
    assert patient.provider.dropped == dropped + 1
    assert len(patient.provider.exchanges) == 2


@every_transport
async def test_tr_02_a_server_that_is_busy_before_any_work_is_asked_again(patient: Matrix, transport: str) -> None:
    patient.provider.script(error_reply(503, "busy"))
    patient.provider.script(says("Hello"))
    assert answer(transport, await patient.caller(transport).call(Call("retries"))) == "Hello"
    (line,) = patient.logged(transport)
    assert (line["outcome"], line["attempts"]) == ("stop", 2)
    assert len(patient.provider.exchanges) == 2


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_tr_02_the_callers_time_bounds_all_attempts_and_pauses(patient: Matrix, transport: str) -> None:
    """A pause that would outlast it is not begun: the caller has the error while it can still use it."""
    patient.provider.always(error_reply(429, "busy", headers={"retry-after-ms": "400"}))
    limit = Call("retries", deadline=0.6) if transport in RPC else Call("retries", members=',"timeout":0.6')
    if transport in ("chat", "chat_stream"):  # a wire on which a caller has no word for it
        limit = Call("retries")
    loop = asyncio.get_running_loop()
    began = loop.time()
    await patient.caller(transport).call(limit)
    took = loop.time() - began
    (line,) = patient.logged(transport)
    attempts = 3 if transport in ("chat", "chat_stream") else 2
    assert (line["outcome"], line["attempts"]) == ("upstream_rate_limited", attempts)
    assert len(patient.provider.exchanges) == attempts
    assert took < 3
