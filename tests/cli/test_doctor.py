"""``deltawire doctor``: what it finds, what it never shows, and its exit code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.apps import shop
from tests.cli.command import Ended, deltawire, in_terminal
from tests.upstream import Upstream, answer, error_reply, refused_port
from tests.upstream.script import reply

pytestmark = pytest.mark.anyio

SECRETS = ("sk-the-openai-key", "the-written-key", "hidden-header", "pa55word")


def configured(folder: Path, upstream: Upstream, more: str = "") -> dict[str, str]:
    """Two providers on the upstream: one from variables, one from the file, each with a function."""
    (folder / "deltawire.toml").write_text(f"""
        [functions.extract_items]
        model = "house:big"
        [providers.house]
        base_url = "{upstream.base_url}"
        api_key = "the-written-key"
        headers = {{ x-team = "hidden-header" }}
        [http]
        heartbeat = 20
        {more}
    """)
    return {
        "DELTAWIRE_MODEL": "openai:m",
        "OPENAI_API_KEY": "sk-the-openai-key",
        "OPENAI_BASE_URL": upstream.base_url,
    }


def told(ended: Ended) -> dict[str, Any]:
    assert ended.err == ""
    assert not [secret for secret in SECRETS if secret in ended.out.decode()]
    return json.loads(ended.out)


def origins(report: dict[str, Any]) -> dict[str, tuple[object, str]]:
    return {setting["name"]: (setting["value"], setting["origin"]) for setting in report["settings"]}


async def test_a_healthy_app_is_well_and_every_setting_tells_where_it_comes_from(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.always(answer("OK"))
        env = configured(tmp_path, upstream)
        app = str(shop(tmp_path))
        ended = await deltawire("doctor", app, "--json", env=env, cwd=tmp_path)
        sent = [request.json for request in upstream.requests]
    report = told(ended)
    assert (ended.code, report["ok"], report["findings"]) == (0, True, [])
    found = origins(report)
    assert found["app"] == (app, "the command line")
    assert found["model"] == ("openai:m", "DELTAWIRE_MODEL")
    assert found["http.heartbeat"] == (20, "deltawire.toml: http.heartbeat")
    assert found["http.status_hold"] == (10, "default")
    assert found["functions.chat.max_tokens"] == (64, f"the decorator at {app}:14")
    assert found["functions.extract_items.models"] == (["house:big"], "deltawire.toml: functions.extract_items.model")
    assert found["providers.openai.base_url"] == (env["OPENAI_BASE_URL"], "OPENAI_BASE_URL")
    assert found["providers.house.api_key"] == ("(hidden)", "deltawire.toml: providers.house.api_key")
    assert found["providers.house.headers"][0] == {"x-team": "(hidden)"}
    assert {call["model"]: call["max_tokens"] for call in sent} == {"m": 16, "big": 16}


async def test_secrets_are_told_by_their_place_and_a_class_of_length(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        env = configured(tmp_path, upstream)
        ended = await deltawire("doctor", str(shop(tmp_path)), "--json", "--no-call", env=env, cwd=tmp_path)
        assert upstream.requests == []
    report = told(ended)
    assert [(one["provider"], one["origin"], one["found"], one["length"]) for one in report["secrets"]] == [
        ("openai", "the variable OPENAI_API_KEY", True, "16 to 63 characters"),
        ("house", "deltawire.toml: providers.house.api_key", True, "under 16 characters"),
    ]
    assert [one["reached"] for one in report["models"]] == [None, None]
    assert ended.code == 0


async def test_a_secret_in_a_store_of_aws_is_told_by_its_name(tmp_path: Path) -> None:
    async with Upstream() as upstream, Upstream() as store:
        store.always(reply(200, b'{"Parameter":{"Value":"sk-the-openai-key"}}'))
        env = {
            **configured(tmp_path, upstream),
            "DELTAWIRE_PROVIDERS__OPENAI__API_KEY": "ssm:/prod/key",
            "AWS_ENDPOINT_URL": store.base_url.removesuffix("/v1"),
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "AKIA",
            "AWS_SECRET_ACCESS_KEY": "hidden-header",
        }
        ended = await deltawire("doctor", str(shop(tmp_path)), "--json", "--no-call", env=env, cwd=tmp_path)
    report = told(ended)
    assert origins(report)["providers.openai.api_key"] == ("ssm:/prod/key", "DELTAWIRE_PROVIDERS__OPENAI__API_KEY")
    [secret] = [one for one in report["secrets"] if one["provider"] == "openai"]
    assert (secret["origin"], secret["found"]) == ("the SSM parameter /prod/key", True)


async def test_each_model_is_asked_once_and_its_failure_has_a_reason(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.answer_with(lambda request: [error_reply(401)] if request.json["model"] == "big" else None)
        upstream.always(answer("OK"))
        env = configured(tmp_path, upstream)
        ended = await deltawire("doctor", str(shop(tmp_path)), "--json", env=env, cwd=tmp_path)
        assert len(upstream.requests) == 2
    report = told(ended)
    [well, broken] = report["models"]
    assert (well["model"], well["reached"], well["functions"][0]) == ("openai:m", True, "chat")
    assert 0 < well["first_content"] <= well["total"] < 10
    assert (broken["model"], broken["reached"], broken["functions"]) == ("house:big", False, ["extract_items"])
    assert broken["reason"] == "upstream_auth"
    assert report["findings"] == [{"level": "trouble", "where": "house:big", "message": broken["message"]}]
    assert ended.code == 1


async def test_what_the_file_says_goes_before_the_decorator_which_is_not_listed_then(tmp_path: Path) -> None:
    (tmp_path / "deltawire.toml").write_text('[functions.say]\nmodel = "local:smollm2"')
    (tmp_path / "say.py").write_text(
        'from deltawire import function\n@function(model="openai:m", temperature=0)\ndef say() -> str:\n    return ""'
    )
    ended = await deltawire("doctor", "say.py", "--json", "--no-call", cwd=tmp_path)
    found = {name: said for name, said in origins(told(ended)).items() if name.startswith("functions.")}
    assert found == {
        "functions.say.models": (["local:smollm2"], "deltawire.toml: functions.say.model"),
        "functions.say.temperature": (0, f"the decorator at {tmp_path / 'say.py'}:2"),
    }


async def test_every_model_of_every_variant_is_asked(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.always(answer("OK"))
        more = """
            [functions.chat.variants]
            a = { models = "openai:x, house:y" }
            b = { model = "openai:z", max_tokens = 5 }
        """
        env = configured(tmp_path, upstream, more)
        ended = await deltawire("doctor", str(shop(tmp_path)), "--json", env=env, cwd=tmp_path)
    used = {one["model"]: one["functions"] for one in told(ended)["models"]}
    assert used["openai:x"] == used["house:y"] == ["chat (a)"]
    assert used["openai:z"] == ["chat (b)"]


async def test_a_secret_that_is_not_there_is_a_trouble_that_says_what_to_set(tmp_path: Path) -> None:
    ended = await deltawire("doctor", "--model", "openai:m", "--json", "--no-call", cwd=tmp_path)
    report = told(ended)
    assert [(one["found"], one["origin"]) for one in report["secrets"]] == [(False, "the variable OPENAI_API_KEY")]
    assert origins(report)["model"] == ("openai:m", "--model")
    [note, trouble] = report["findings"]
    assert (note["level"], note["where"]) == ("note", "app")
    assert trouble["message"] == (
        "the api_key of provider 'openai' is in the environment variable OPENAI_API_KEY, which is not set: "
        "set OPENAI_API_KEY"
    )
    assert ended.code == 1


@pytest.mark.parametrize(
    ("variables", "where", "message"),
    [
        ({"DELTAWIRE_HTTP__HEARTBAET": "3"}, "settings", "did you mean DELTAWIRE_HTTP__HEARTBEAT?"),
        ({"DELTAWIRE_APP": "nothing.py"}, "app", "there is no file nothing.py"),
        ({"DELTAWIRE_FUNCTIONS__CHET__MAX_TOKENS": "3"}, "functions", "the settings name a function 'chet'"),
        ({"DELTAWIRE_ARTICLE_FUNCTION": "chet"}, "article_function", "no function named 'chet' is served"),
        ({"DELTAWIRE_MODEL": "nobody:m"}, "nobody:m", "function 'chat' uses provider 'nobody', which the settings"),
        ({"DELTAWIRE_MODEL": "local:gpt"}, "local:gpt", "no local model is called 'gpt'"),
        ({"DELTAWIRE_HTTP__HEARTBEAT": "61"}, "http.heartbeat", "most proxies cut what is silent for 60 s"),
        (
            {"OPENAI_CHAT_ENGINE": "d", "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "https://x:pa55word@r.test"},
            "azure:d",
            "leave out what stands before an @",
        ),
        (
            {"DELTAWIRE_MODEL": "x:m", "DELTAWIRE_PROVIDERS__X__BASE_URL": "https://x:pa55word@r.test/v1"},
            "x:m",
            "the base_url of provider 'x' holds a user or password",
        ),
    ],
)
async def test_whatever_is_wrong_is_a_finding_and_exit_code_1(
    variables: dict[str, str], where: str, message: str, tmp_path: Path
) -> None:
    shop(tmp_path)
    env = {"DELTAWIRE_APP": "shop.py", "DELTAWIRE_MODEL": "local:smollm2", **variables}
    if "OPENAI_CHAT_ENGINE" in variables:
        del env["DELTAWIRE_MODEL"]
    ended = await deltawire("doctor", "--json", "--no-call", env=env, cwd=tmp_path)
    assert [finding for finding in told(ended)["findings"] if finding["where"] == where], ended.out
    assert message in ended.out.decode()
    assert ended.code == 1


async def test_on_a_terminal_no_line_is_longer_than_its_80_columns(tmp_path: Path) -> None:
    with refused_port() as port:
        env = {
            "DELTAWIRE_MODEL": "openai:m",
            "OPENAI_API_KEY": "sk-the-openai-key",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "DELTAWIRE_FUNCTIONS__EVERYTHING__TIMEOUTS__FIRST_TOKEN": "700",
            "DELTAWIRE_HTTP__ALLOWED_ORIGINS": "https://one.example.com,https://a-rather-long-name.example.com",
            "NO_COLOR": "1",
            "TERM": "dumb",
        }
        async with in_terminal("doctor", str(shop(tmp_path)), env=env, cwd=tmp_path) as terminal:
            shown = await terminal.until(None)
            assert await terminal.process.wait() == 1
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "functions.everything.timeouts.first_token" in shown
    assert "upstream_unreachable" in shown
    assert re.search(r"trouble  timeouts\.first_token of everything\s", shown)
    assert shown.rstrip().endswith("2 troubles")
    assert "sk-the" not in shown


async def test_in_a_pipe_each_setting_has_one_line_and_all_is_well_at_the_end(tmp_path: Path) -> None:
    async with Upstream() as upstream:
        upstream.always(answer("OK"))
        env = configured(tmp_path, upstream)
        ended = await deltawire("doctor", str(shop(tmp_path)), env=env, cwd=tmp_path)
    lines = ended.out.decode().splitlines()
    assert (ended.code, ended.err, lines[-1]) == (0, "", "all is well")
    assert ["http.heartbeat", "20", "deltawire.toml: http.heartbeat"] in [re.split(r"\s{2,}", line) for line in lines]
    assert not [secret for secret in SECRETS if secret in ended.out.decode()]


async def test_a_function_that_cannot_work_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("""
from deltawire import Variant, function


@function(variants=[Variant("a", weight=0), Variant("b", weight=0)])
def nobody() -> str: ...


@function(model="openai:m")
def somebody() -> str: ...
""")
    env = {
        "OPENAI_API_KEY": "sk-the-openai-key",
        "OPENAI_BASE_URL": "https://me:1/pa55word@r.test/v1?pa55word",
        "DELTAWIRE_FUNCTIONS__NOBODI__RETRIES": "1",
    }
    ended = await deltawire("doctor", "two.py", "--json", "--no-call", env=env, cwd=tmp_path)
    report = told(ended)
    assert origins(report)["providers.openai.base_url"][0] == "https://…@r.test/v1?…"
    assert [model["functions"] for model in report["models"]] == [["somebody"]]
    messages = [finding["message"] for finding in report["findings"] if finding["where"] == "functions"]
    assert len(messages) == 2
    assert "the settings name a function 'nobodi'" in messages[0]
    assert "all variants of 'nobody' have weight 0" in messages[1]
    assert ended.code == 1
