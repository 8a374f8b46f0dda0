"""Several ways to run one function: who gets which, and what each has its own way."""

import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from math import inf, nan
from pathlib import Path

import pytest

from deltawire import Prompt, Timeouts, Variant, function
from deltawire.bootstrap.resolve import resolved
from deltawire.domain.errors import DeclarationError, Reason, RunError
from deltawire.domain.events import Finished, Started, Text
from deltawire.domain.function import Function
from deltawire.domain.options import Options
from deltawire.engine.plan import Plan, Way
from deltawire.engine.variants import choose
from deltawire.providers.scripted import Scripted
from deltawire.settings import Settings
from tests.engine.stage import request, stage

pytestmark = pytest.mark.anyio

USERS = [f"user-{number}" for number in range(10_000)]


@function(
    temperature=0.5,
    max_tokens=100,
    variants=[
        Variant("small", weight=90, model="a:tiny"),
        Variant("large", weight=10, models=["b:huge", "a:tiny"], temperature=0, max_tokens=50),
        Variant("hidden", weight=0, model="b:new", timeouts=Timeouts(total=7)),
    ],
)
def say(words: str) -> str:
    return words


def planned(declared: Function) -> Plan:
    """Its plan, without any provider: only who gets what is of interest."""
    found = resolved({declared.name: declared}, Settings.model_construct())[declared.name]
    return Plan(found.function, tuple(Way(way.variant, way.weight, way.options, ()) for way in found.ways))


def assigned(plan: Plan) -> list[str | None]:
    return [choose(plan, user, None).variant for user in USERS]


def test_users_are_divided_by_the_weights() -> None:
    shares = Counter(assigned(planned(say)))
    assert shares["small"] / len(USERS) == pytest.approx(0.9, abs=0.02)
    assert shares["large"] / len(USERS) == pytest.approx(0.1, abs=0.02)
    assert "hidden" not in shares


def test_callers_without_a_user_are_divided_at_random() -> None:
    plan = planned(say)
    shares = Counter(choose(plan, None, None).variant for _ in USERS)
    assert shares["small"] / len(USERS) == pytest.approx(0.9, abs=0.02)
    assert "hidden" not in shares


def test_a_user_is_assigned_by_a_hash_that_anybody_can_compute() -> None:
    def by_hand(user: str) -> str:
        point = int(sha256(f"say\0{user}".encode()).hexdigest()[:16], 16) / 16**16
        return "small" if point < 0.9 else "large"

    assert assigned(planned(say)) == [by_hand(user) for user in USERS]


def test_a_user_stays_with_a_variant_in_every_process() -> None:
    command = "from tests.engine.test_variants import assigned, planned, say; print(assigned(planned(say)))"
    for seed in ("1", "2"):
        environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
        printed = subprocess.check_output([sys.executable, "-c", command], env=environment, text=True)
        assert printed.strip() == str(assigned(planned(say)))


def test_the_users_of_another_function_are_divided_otherwise() -> None:
    @function(variants=[Variant("small", weight=90, model="a:b"), Variant("large", weight=10, model="a:c")])
    def other(words: str) -> str:
        return words

    large = [user for user, variant in zip(USERS, assigned(planned(say)), strict=True) if variant == "large"]
    elsewhere = Counter(choose(planned(other), user, None).variant for user in large)
    assert elsewhere["large"] / len(large) == pytest.approx(0.1, abs=0.04)


def test_any_text_is_a_user() -> None:
    for user in ("", "\0", "🙂", "\ud800", "x" * 10**6):
        assert choose(planned(say), user, None).variant == choose(planned(say), user, None).variant


async def test_a_variant_runs_on_its_own_model_with_its_own_options() -> None:
    a, b = Scripted("tiny"), Scripted("huge")
    async with stage([say], a=a, b=b) as on:
        events = await on.events("say", request(words="hi", variant="large"))
        started = events[0]
        assert isinstance(started, Started)
        assert (started.variant, started.model, started.max_tokens, started.timeout) == ("large", "b:huge", 50, 300)
        assert (b.attempts[0].model, b.attempts[0].temperature, a.attempts) == ("huge", 0, [])
        assert (on.record.variant, on.record.model) == ("large", "b:huge")


async def test_a_fallback_changes_the_model_and_never_the_variant() -> None:
    a, b = Scripted("spare"), Scripted(RunError(Reason.upstream_error, "down"))
    async with stage([say], a=a, b=b) as on:
        [started, text, finished] = await on.events("say", request(words="hi", variant="large"))
        assert isinstance(started, Started)
        assert isinstance(finished, Finished)
        assert (started.variant, started.model, text, finished.attempts) == ("large", "a:tiny", Text("spare"), 2)
        assert (on.record.variant, on.record.model, a.attempts[0].temperature) == ("large", "a:tiny", 0)


async def test_what_a_variant_does_not_say_is_as_the_function_has_it() -> None:
    a, b = Scripted("tiny"), Scripted("new")
    async with stage([say], a=a, b=b) as on:
        [started, *_] = await on.events("say", request(words="hi", variant="hidden"))
        assert isinstance(started, Started)
        assert (started.variant, started.model, started.max_tokens, started.timeout) == ("hidden", "b:new", 100, 7)
        assert b.attempts[0].temperature == 0.5


async def test_an_unknown_variant_is_told_which_there_are() -> None:
    async with stage([say], a=Scripted(), b=Scripted()) as on:
        error = await on.error("say", request(words="hi", variant="smal"))
        assert error.reason is Reason.unknown_variant
        assert error.message == "function 'say' has no variant 'smal'; known: 'small', 'large', 'hidden'"


async def test_a_function_without_variants_says_so() -> None:
    @function
    def plain(words: str) -> str:
        return words

    async with stage([plain], "a") as on:
        error = await on.error("plain", request(words="hi", variant="b"))
        assert error.message == "function 'plain' has no variant 'b'; it has none: leave 'variant' out"


def test_two_variants_of_one_name_are_refused_where_they_are_declared() -> None:
    with pytest.raises(DeclarationError, match=r"test_variants.py:\d+: .*two variants are called 'a'"):

        @function(variants=[Variant("a"), Variant("a")])
        def twice(words: str) -> Prompt:
            return Prompt(user=words)


def test_a_model_beside_models_is_refused() -> None:
    with pytest.raises(DeclarationError, match="give either model or models, not both"):

        @function(model="a:b", models=["c:d"])
        def both(words: str) -> str:
            return words


def test_models_that_name_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__SAY__MODELS", ",")
    with pytest.raises(DeclarationError, match="models names none"):
        Settings.load()


def test_variants_that_nobody_can_get_are_refused() -> None:
    @function(variants=[Variant("a", weight=0), Variant("b", weight=0)])
    def nobody(words: str) -> str:
        return words

    with pytest.raises(DeclarationError, match="all variants of 'nobody' have weight 0"):
        resolved({"nobody": nobody}, Settings.model_construct())


def test_everything_about_variants_can_be_said_in_the_file_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deltawire.toml").write_text("""
[functions.say]
model = "file:general"
[functions.say.variants.small]
weight = 1
model = "file:tiny"
[functions.say.variants.extra]
models = ["file:extra", "file:spare"]
""")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__SAY__VARIANTS__LARGE__WEIGHT", "3")
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__SAY__VARIANTS__EXTRA__MODEL", "variable:extra")
    ways = {way.variant: way for way in resolved({"say": say}, Settings.load())["say"].ways}
    assert {name: (way.weight, way.models) for name, way in ways.items()} == {
        "small": (1, ("file:tiny",)),
        "large": (3, ("b:huge", "a:tiny")),
        "hidden": (0, ("b:new",)),
        "extra": (1, ("variable:extra",)),
    }


def test_the_model_of_a_nearer_source_replaces_the_models_of_a_farther_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @function(models=["decorator:a", "decorator:b"])
    def chained(words: str) -> str:
        return words

    def models() -> tuple[str, ...]:
        return resolved({"chained": chained}, Settings.load())["chained"].ways[0].models

    monkeypatch.chdir(tmp_path)
    assert models() == ("decorator:a", "decorator:b")
    (tmp_path / "deltawire.toml").write_text('[functions.chained]\nmodel = "file:a"')
    assert models() == ("file:a",)
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__CHAINED__MODELS", "variable:a, variable:b")
    assert models() == ("variable:a", "variable:b")
    assert resolved({"chained": chained}, Settings.load(), "flag:x")["chained"].ways[0].models == ("flag:x",)


@pytest.mark.parametrize("weight", [inf, nan, 1e308, -1])
def test_a_weight_is_a_number_that_can_be_divided_by(weight: float) -> None:
    with pytest.raises(DeclarationError, match="weight"):

        @function(variants=[Variant("a", weight=weight), Variant("b")])
        def odd() -> str: ...  # pyright: ignore[reportUnusedFunction]


@pytest.mark.parametrize("user", [None, "u-1", "u-2", "u-3", "u-4"])
def test_a_weight_next_to_nothing_is_more_than_none(user: str | None) -> None:
    way = Way("a", 5e-324, Options(), ()), Way("b", 0, Options(), ())
    for _ in range(20):
        assert choose(Plan(say, way), user, None).variant == "a"
