"""The variables of other tools: which settings they make, and what goes before them."""

import os
from pathlib import Path

import pytest

from deltawire import DeclarationError, function
from deltawire.bootstrap.core import build_core
from deltawire.bootstrap.resolve import resolved
from deltawire.providers.azure.settings import AzureSettings
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.settings import Settings

ARTICLE_A = {
    "OPENAI_API_BASE": "https://r.openai.azure.com/",
    "OPENAI_API_KEY": "the-key",
    "OPENAI_API_VERSION": "2024-10-21",
    "OPENAI_CHAT_ENGINE": "gpt-35",
}
AZURE = {
    "AZURE_OPENAI_ENDPOINT": "https://a.openai.azure.com",
    "AZURE_OPENAI_API_KEY": "azure-key",
    "OPENAI_API_VERSION": "2024-06-01",
}


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.upper().startswith(("DELTAWIRE_", "OPENAI_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@function
def bare(text: str) -> str:
    return text


@function(model="openai:decorator")
def told(text: str) -> str:
    return text


def loaded(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], toml: str = "") -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Path("deltawire.toml").write_text(toml)
    return Settings.load()


def azure(settings: Settings) -> tuple[str | None, str | None, str | None]:
    entry = settings.provider("azure")
    assert isinstance(entry, AzureSettings)
    return entry.endpoint, entry.api_version, entry.api_key


def test_azures_own_variables_make_the_provider_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, AZURE)
    assert azure(settings) == ("https://a.openai.azure.com", "2024-06-01", "env:AZURE_OPENAI_API_KEY")
    assert settings.provider_names() == ["azure", "local", "openai"]
    assert resolved({"bare": bare}, settings)["bare"].models == "local:smollm2"


def test_the_four_variables_of_article_a_make_azure_and_the_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, ARTICLE_A)
    assert azure(settings) == ("https://r.openai.azure.com/", "2024-10-21", "env:OPENAI_API_KEY")
    models = resolved({"bare": bare, "told": told}, settings)
    assert (models["bare"].models, models["told"].models) == ("azure:gpt-35", "openai:decorator")
    assert settings.provider("openai") is None  # the key is Azure's: it goes nowhere else


def test_the_four_go_before_azures_own_which_fill_what_they_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert azure(loaded(monkeypatch, AZURE | ARTICLE_A))[0] == "https://r.openai.azure.com/"
    for name in ("OPENAI_API_BASE", "OPENAI_API_KEY"):
        monkeypatch.delenv(name)
    assert azure(Settings.load()) == ("https://a.openai.azure.com", "2024-10-21", "env:AZURE_OPENAI_API_KEY")


def test_a_model_that_we_are_told_goes_before_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, ARTICLE_A | {"DELTAWIRE_MODEL": "local:smollm2"})
    assert resolved({"bare": bare}, settings)["bare"].models == "local:smollm2"


def test_an_empty_engine_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, ARTICLE_A | {"OPENAI_CHAT_ENGINE": ""})
    assert (settings.model, settings.provider_names()) == (None, ["local", "openai"])


def test_what_is_written_goes_before_each_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, AZURE, '[providers.azure]\napi_version = "2024-10-21"\ntoken = "file:/t"')
    entry = settings.provider("azure")
    assert isinstance(entry, AzureSettings)
    assert (entry.endpoint, entry.api_version) == ("https://a.openai.azure.com", "2024-10-21")
    assert (entry.token, entry.api_key) == ("file:/t", None)


def test_an_entry_called_azure_is_of_its_kind_without_saying_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_PROVIDERS__AZURE__ENDPOINT", "https://b.openai.azure.com")
    assert azure(Settings.load()) == ("https://b.openai.azure.com", None, "env:AZURE_OPENAI_API_KEY")


def test_an_entry_may_use_the_name_for_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    toml = '[providers.azure]\nkind = "openai"\nbase_url = "http://b/v1"\n[providers.west]\nkind = "azure"'
    settings = loaded(monkeypatch, AZURE, toml)
    assert settings.provider("azure") == OpenAISettings(base_url="http://b/v1")
    assert settings.provider("west") == AzureSettings()


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ('[providers.x]\nkind = "azur"', "deltawire.toml: providers.x.kind: known: openai, azure"),
        ("[providers.x]\nkind = 5", "deltawire.toml: providers.x.kind: known: openai, azure"),
        (
            '[providers.x]\nkind = "azure"\nendpont = "x"',
            "deltawire.toml: providers.x.endpont is no setting; did you mean endpoint?",
        ),
        (
            '[providers.azure]\nbase_url = "x"',
            "deltawire.toml: providers.azure.base_url is no setting; known: api_key, headers, max_tokens_field, "
            "max_event_bytes, keep_alive, kind, endpoint, api_version, token, credential, scope, structured_output",
        ),
        (
            '[providers.azure]\napi_key = "k"\ntoken = "env:T"',
            "deltawire.toml: providers.azure: api_key and token exclude each other: leave one of them",
        ),
        ("[providers]\nazure = 5", "deltawire.toml: providers.azure is a section, and no setting itself"),
        ("providers = 5", "deltawire.toml: providers is a section, and no setting itself"),
    ],
)
def test_a_mistake_in_an_entry_names_its_key_and_not_the_union(
    toml: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DeclarationError) as refused:
        loaded(monkeypatch, {}, toml)
    assert str(refused.value).startswith(complaint)


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"OPENAI_CHAT_ENGINE": "d", "OPENAI_API_KEY": "k"}, "has no endpoint: set "),
        ({"OPENAI_CHAT_ENGINE": "d", "OPENAI_API_BASE": "https://r.test"}, "not set: set OPENAI_API_KEY"),
        (ARTICLE_A | {"OPENAI_API_VERSION": "2024-07-18"}, "is '2024-07-18', a version of the model gpt-4o-mini"),
    ],
)
def test_a_variable_that_cannot_work_is_an_error_at_the_start(
    variables: dict[str, str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DeclarationError) as refused:
        build_core({"bare": bare}, loaded(monkeypatch, variables), [])
    assert complaint in str(refused.value)


def test_an_endpoint_that_nobody_uses_is_nobodys_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = loaded(monkeypatch, {"AZURE_OPENAI_ENDPOINT": "nonsense"})
    build_core({"bare": bare}, settings, [], model="local:smollm2")
