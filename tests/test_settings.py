"""What goes before what, and how a mistake in the settings is told."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from deltawire import DeclarationError, Timeouts, function
from deltawire.bootstrap.core import build_core
from deltawire.bootstrap.resolve import resolved
from deltawire.domain.function import Function, FunctionSettings
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.secrets import Secrets
from deltawire.settings import Settings

Write = Callable[[str], None]


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, and a folder without a file."""
    for name in os.environ:
        if name.upper().startswith(("DELTAWIRE_", "OPENAI_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def toml() -> Write:
    def write(text: str) -> None:
        Path("deltawire.toml").write_text(text)

    return write


@function
def bare(text: str) -> str:
    return text


@function(
    model="openai:decorator", max_tokens=10, temperature=0.1, timeouts=Timeouts(first_token=10, idle=10), name="Told"
)
def told(text: str) -> str:
    return text


def in_force(function: Function, *, model: str | None = None) -> tuple[str, FunctionSettings]:
    found = resolved({"bare": bare, "Told": told}, Settings.load(), model)[function.name]
    return found.models, found.function.settings


def test_the_defaults() -> None:
    model, settings = in_force(bare)
    assert model == "local:smollm2"
    assert (settings.max_tokens, settings.temperature) == (None, None)
    assert settings.timeouts == Timeouts(connect=5, first_token=60, idle=30, total=300)
    loaded = Settings.load()
    assert (loaded.app, loaded.host, loaded.port, loaded.grpc_port) == (None, "127.0.0.1", 8000, 50051)


def test_the_decorator_goes_before_the_defaults() -> None:
    model, settings = in_force(told)
    assert (model, settings.max_tokens, settings.temperature) == ("openai:decorator", 10, 0.1)
    assert settings.timeouts == Timeouts(connect=5, first_token=10, idle=10, total=300)


def test_the_file_goes_before_the_decorator(toml: Write) -> None:
    toml("""
        [functions.Told]
        model = "openai:file"
        max_tokens = 20
        temperature = 0.2
        timeouts = { idle = 20 }
    """)
    model, settings = in_force(told)
    assert (model, settings.max_tokens, settings.temperature) == ("openai:file", 20, 0.2)
    assert settings.timeouts == Timeouts(first_token=10, idle=20)


def test_the_environment_goes_before_the_file(toml: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    toml("""
        port = 1
        [functions.Told]
        model = "openai:file"
        max_tokens = 20
        temperature = 0.2
        timeouts = { first_token = 20, idle = 20 }
    """)
    monkeypatch.setenv("DELTAWIRE_PORT", "2")
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__TOLD__MODEL", "openai:environment")
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__TOLD__MAX_TOKENS", "30")
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__TOLD__TIMEOUTS__IDLE", "30.5")
    model, settings = in_force(told)
    assert (model, settings.max_tokens, settings.temperature) == ("openai:environment", 30, 0.2)
    assert settings.timeouts == Timeouts(first_token=20, idle=30.5)
    assert Settings.load().port == 2


def test_the_command_line_goes_before_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__TOLD__MODEL", "openai:environment")
    monkeypatch.setenv("DELTAWIRE_PORT", "2")
    monkeypatch.setenv("DELTAWIRE_LOG__LEVEL", "debug")
    assert in_force(told, model="openai:flag")[0] == "openai:flag"
    settings = Settings.load(port="3", host=None, log={"format": "json"})
    assert (settings.port, settings.host) == (3, "127.0.0.1")
    assert (settings.log.format, settings.log.level) == ("json", "debug")


@pytest.mark.parametrize("name", ["DELTAWIRE_FUNCTIONS__told__MODEL", "DELTAWIRE_functions__TOLD__model"])
def test_a_functions_name_in_a_variable_has_no_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "openai:environment")
    assert in_force(told)[0] == "openai:environment"


def test_the_general_model_and_timeouts_fill_only_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_MODEL", "openai:general")
    monkeypatch.setenv("DELTAWIRE_TIMEOUTS__IDLE", "7")
    monkeypatch.setenv("DELTAWIRE_TIMEOUTS__TOTAL", "70")
    model, settings = in_force(bare)
    assert (model, settings.timeouts) == ("openai:general", Timeouts(idle=7, total=70))
    model, settings = in_force(told)
    assert (model, settings.timeouts) == ("openai:decorator", Timeouts(first_token=10, idle=10, total=70))


def test_a_setting_of_a_function_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_FUNCTIONS__TOLT__MODEL", "openai:m")
    with pytest.raises(DeclarationError, match="the settings name a function 'tolt'; known: Told, bare"):
        in_force(told)


def test_what_kubernetes_says_of_a_service_called_deltawire_is_not_meant(
    toml: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml("port = 9000")
    monkeypatch.setenv("DELTAWIRE_PORT", "tcp://10.0.0.1:8000")
    monkeypatch.setenv("DELTAWIRE_GRPC_PORT", "tcp://10.0.0.1:50051")
    monkeypatch.setenv("DELTAWIRE_PORT_8000_TCP_ADDR", "10.0.0.1")
    monkeypatch.setenv("DELTAWIRE_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("DELTAWIRE_SERVICE_PORT_HTTP", "8000")
    monkeypatch.setenv("DELTAWIRE_CANARY_SERVICE_HOST", "10.0.0.2")
    monkeypatch.setenv("DELTAWIRE_CANARY_PORT_8000_TCP", "tcp://10.0.0.2:8000")
    settings = Settings.load()
    assert (settings.port, settings.grpc_port) == (9000, 50051)


def test_off_switches_a_port_off_and_an_empty_variable_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_GRPC_PORT", "off")
    monkeypatch.setenv("DELTAWIRE_MODEL", "")
    monkeypatch.setenv("DELTAWIRE_PORT", "")
    settings = Settings.load()
    assert (settings.grpc_port, settings.model, settings.port) == (0, None, 8000)


def test_a_list_in_a_variable_stands_between_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_HTTP__ALLOWED_HOSTS", "a.example, b.example")
    assert Settings.load().http.allowed_hosts == ("a.example", "b.example")


def test_another_file_may_be_named_and_must_then_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "other.toml"
    monkeypatch.setenv("DELTAWIRE_CONFIG", str(file))
    with pytest.raises(DeclarationError, match=f"DELTAWIRE_CONFIG names {file}, which is no file"):
        Settings.load()
    file.write_text('app = "other.py"')
    assert Settings.load().app == "other.py"


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("DELTAWIRE_HTTP__STATUS_HOLD", "long", "Input should be a valid number, unable to parse string as a number"),
        ("DELTAWIRE_http__STATUS_HOLD", "-1", "Input should be greater than or equal to 0"),
        ("DELTAWIRE_PORT", "http", "a port is a number up to 65535, or off"),
        ("DELTAWIRE_GRPC__MAX_MESSAGE_BYTES", "2147483648", "Input should be less than 2147483648"),
        ("DELTAWIRE_PORT", "65536", "Input should be less than or equal to 65535"),
        ("DELTAWIRE_FUNCTIONS__TOLD__MAX_TOKENS", "0", "Input should be greater than 0"),
    ],
)
def test_a_wrong_value_names_its_variable(
    variable: str, value: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    assert str(refused.value) == f"{variable}: {complaint}"


def test_a_section_that_is_given_a_value_tells_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_LOG", "json")
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    known = "known: DELTAWIRE_LOG__FORMAT, DELTAWIRE_LOG__LEVEL"
    assert str(refused.value) == f"DELTAWIRE_LOG is a section, and no setting itself; {known}"
    monkeypatch.delenv("DELTAWIRE_LOG")
    Path("deltawire.toml").write_text("log = 5")
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    assert str(refused.value) == "deltawire.toml: log is a section, and no setting itself; known: format, level"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            '[http]\nheartbeat = "x"',
            "http.heartbeat: Input should be a valid number, unable to parse string as a number",
        ),
        ("[http]\nhartbeat = 1", "http.hartbeat is no setting; did you mean heartbeat?"),
        ("modle = 'x'", "modle is no setting; did you mean model?"),
        ("[functions.told]\nmodl = 'x'", "functions.told.modl is no setting; did you mean model?"),
        ("[functions.told.timeouts]\nidel = 1", "functions.told.timeouts.idel is no setting; did you mean idle?"),
        ("[providers.x]\nbase = 'x'", "providers.x.base is no setting; did you mean base_url?"),
        ("workers = 8000", "workers: Input should be less than or equal to 256"),
        ("[log]\nzzz = 1", "log.zzz is no setting; known: format, level"),
        ("[timeouts]\ntotal = inf", "timeouts.total: Input should be a finite number"),
        ("[providers.x]\nkeep_alive = nan", "providers.x.keep_alive: Input should be a finite number"),
        ("[providers.x]\nheaders = {'x a' = '1'}", "providers.x.headers: 'x a' is no name for a header"),
        (
            '[providers.x]\nheaders = {x-a = "a\\nb"}',
            "providers.x.headers: the value of x-a holds characters that no HTTP header can carry",
        ),
        (
            "[providers.x]\nheaders = {Content-Length = '5'}",
            "providers.x.headers: Content-Length is not for you to set: the request has its own",
        ),
    ],
)
def test_a_mistake_in_the_file_names_file_and_key(text: str, complaint: str, toml: Write) -> None:
    toml(text)
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    assert str(refused.value) == f"deltawire.toml: {complaint}"


def test_an_unknown_variable_of_a_section_names_the_nearest_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_HTTP__STAUTS_HOLD", "1")
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    expected = "DELTAWIRE_HTTP__STAUTS_HOLD is no setting; did you mean DELTAWIRE_HTTP__STATUS_HOLD?"
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("variable", "way_out"),
    [
        ("DELTAWIRE_MODLE", "did you mean DELTAWIRE_MODEL?"),
        ("DELTAWIRE_LOG_FORMAT", "did you mean DELTAWIRE_LOG__FORMAT?"),
        ("DELTAWIRE_HTTP_STATUS_HOLD", "did you mean DELTAWIRE_HTTP__STATUS_HOLD?"),
        ("DELTAWIRE_TIMEOUT__IDLE", "did you mean DELTAWIRE_TIMEOUTS?"),
    ],
)
def test_a_variable_that_begins_like_ours_and_is_none_is_an_error(
    variable: str, way_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    assert str(refused.value) == f"{variable} is no setting; {way_out}"


def test_a_file_that_is_no_toml_is_named(toml: Write) -> None:
    toml("port = ")
    with pytest.raises(DeclarationError, match=r"deltawire\.toml is no TOML: Invalid value"):
        Settings.load()


@pytest.mark.parametrize("text", [f"port = {'9' * 5000}", f"port = {'[' * 2000}{']' * 2000}"])
def test_a_file_beyond_all_reason_cannot_be_read(text: str, toml: Write) -> None:
    toml(text)
    with pytest.raises(DeclarationError, match=r"^deltawire\.toml cannot be read: "):
        Settings.load()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ftp://user:the-secret@host/v1", "holds a user or password: put it into api_key or headers"),
        ("https://user:the-secret@host/v1", "holds a user or password: put it into api_key or headers"),
        ("user:the-secret@host", "is no http(s) URL: begin it with https://"),
        ("https://user:the-secret@[host", "is no URL"),
        ("https:///v1", "names no host"),
        ("https://host/v1?key=the-secret", "holds a query or fragment, behind which no path can be put"),
        ("https://host:port/v1", "is no URL: port could not be cast to integer value as 'port'"),
    ],
)
def test_a_base_url_that_cannot_work_is_refused_at_start_and_not_told(
    url: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(DeclarationError) as refused:
        build_core({"bare": bare}, Settings.load(), [], model="openai:m")
    assert str(refused.value).startswith(f"the base_url of provider 'openai' {complaint}")
    assert "the-secret" not in str(refused.value)


def test_no_value_is_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTAWIRE_PROVIDERS__X__HEADERS", "the-secret")
    with pytest.raises(DeclarationError) as refused:
        Settings.load()
    assert "the-secret" not in str(refused.value)


def test_a_missing_key_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(DeclarationError, match=r"'openai', which function 'bare' uses,.* set OPENAI_API_KEY"):
        build_core({"bare": bare}, Settings.load(), [], model="openai:m")


def test_openai_is_there_from_its_conventional_variables_and_an_entry_goes_before(
    toml: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    entry = Settings.load().provider("openai")
    assert isinstance(entry, OpenAISettings)
    assert (entry.base_url, entry.api_key) == ("http://127.0.0.1:1/v1", "env:OPENAI_API_KEY")
    toml('[providers.openai]\nbase_url = "http://127.0.0.1:2/v1"')
    entry = Settings.load().provider("openai")
    assert isinstance(entry, OpenAISettings)
    assert (entry.base_url, entry.api_key) == ("http://127.0.0.1:2/v1", "env:OPENAI_API_KEY")


def test_a_secret_is_written_as_it_is_or_as_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    monkeypatch.setenv("SOME_KEY", "from-a-variable")
    assert Secrets().read("as-it-is", "the key") == "as-it-is"
    assert Secrets().read("env:SOME_KEY", "the key") == "from-a-variable"
    assert Secrets().read(f"file:{file}", "the key") == "from-a-file"


def test_a_secret_that_is_not_there_is_an_error_that_says_where_it_should_be(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for written, complaint in {
        "env:NO_KEY": "the key is in the environment variable NO_KEY, which is not set: set NO_KEY",
        "file:none": "the key is in the file none, which cannot be read: No such file or directory",
        "file:empty": "the key is in the file empty, which is empty",
    }.items():
        with pytest.raises(DeclarationError) as refused:
            Secrets().read(written, "the key")
        assert str(refused.value) == complaint


def test_each_local_model_that_is_named_must_exist() -> None:
    @function(model="local:smollm2")
    def known(text: str) -> str:
        return text

    @function(model="local:nope")
    def unknown(text: str) -> str:
        return text

    with pytest.raises(DeclarationError, match="no local model is called 'nope'; known: smollm2"):
        build_core({"known": known, "unknown": unknown}, Settings.load(), [])
