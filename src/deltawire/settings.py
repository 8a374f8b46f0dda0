"""Everything that can be configured: by the command line, the environment and ``deltawire.toml``, in this order.

Each room owns its section; here they are put together, and here the environment is read. A variable begins with
``DELTAWIRE_``, and ``__`` goes one section down: ``DELTAWIRE_HTTP__STATUS_HOLD`` is ``status_hold`` of ``[http]``.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, PositiveInt, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from typing_extensions import override

from deltawire.conventions import Place, conventional
from deltawire.domain.errors import DeclarationError
from deltawire.domain.limits import SecondsOrZero, Timeouts
from deltawire.domain.options import FunctionSettings
from deltawire.engine.breaker import BreakerSettings
from deltawire.observers.log import LogSettings
from deltawire.origins import PREFIX, Origins, Written, section_at, way_out
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.settings import KINDS, Entry, ProviderSettings
from deltawire.transports.grpc.settings import GrpcSettings
from deltawire.transports.http.settings import HttpSettings

DEFAULT_MODEL = "local:smollm2"
_FILE = "deltawire.toml"
_OTHERS = re.compile(PREFIX + r"(CONFIG|TEST_.*|(.*_)?SERVICE_(HOST|PORT)(_.*)?|(.*_)?PORT_\d+_(TCP|UDP)(_.*)?)")
"""Variables with our prefix that are no settings."""
_TOLD = 5
"""How many mistakes are named at once."""


def _port(value: object) -> object:
    match value:
        case "off":
            return 0
        case str() if not value.strip().isdecimal():
            raise ValueError("a port is a number up to 65535, or off")
        case _:
            return value


Port = Annotated[int, BeforeValidator(_port), Field(ge=0, le=65535)]
"""A TCP port; ``off`` or 0 switches it off."""


class Settings(BaseSettings):
    """The settings in force. ``load`` makes them; nothing changes them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,  # what a manifest leaves empty is not said
        enable_decoding=False,  # a list in a variable is written with commas, not as JSON
        extra="forbid",
        frozen=True,
    )

    app: str | None = None
    """The file, or the module, with the functions."""
    host: str = "127.0.0.1"
    port: Port = 8000
    grpc_port: Port = 50051
    model: str | None = None
    """``provider:model`` for functions that name none."""
    article_function: str = "chat"
    """The function that answers the prompts of the streaming-chat article's surface."""
    max_runs: PositiveInt = 1000
    """Runs under way at once, on all transports together. Each has a connection to its caller and one to its provider,
    and may keep a request and a typed answer of some MiB."""
    workers: Annotated[PositiveInt, Field(le=256)] = 1
    """Processes that serve, each on both ports. The limits of this server hold for each of them. More than 256 are more
    than the usual 1024 open files of the process that watches them, and most likely a port at the wrong place."""
    drain_delay: SecondsOrZero = 0.0
    """Seconds for which a server that is to stop still takes runs, while it already says that it is not ready."""
    drain_timeout: SecondsOrZero = 25.0
    """Seconds that runs under way get from then on."""
    timeouts: Timeouts = Timeouts()
    """For all functions; ``[functions.NAME.timeouts]`` for one."""
    breaker: BreakerSettings = BreakerSettings()
    functions: dict[str, FunctionSettings] = {}
    providers: dict[str, Entry] = {}
    local: LocalSettings = LocalSettings()
    http: HttpSettings = HttpSettings()
    grpc: GrpcSettings = GrpcSettings()
    log: LogSettings = LogSettings()

    @classmethod
    def load(cls, **flags: object) -> "Settings":
        """``flags`` are what the command line said; ``None`` is what it did not say. Raises ``DeclarationError``."""
        file = config_file()
        if os.environ.get("DELTAWIRE_CONFIG") and not file.is_file():
            raise DeclarationError(f"DELTAWIRE_CONFIG names {file}, which is no file")
        said = {name: value for name, value in flags.items() if value is not None}
        try:
            return cls(**said)  # pyright: ignore[reportArgumentType]  (checked by pydantic)
        except ValidationError as error:
            raise DeclarationError("; ".join(_mistakes(error, origins(said)))) from None
        except tomllib.TOMLDecodeError as error:
            raise DeclarationError(f"{file} is no TOML: {error}") from None
        except (OSError, ValueError, RecursionError) as error:  # no text, or numbers and nesting beyond all reason
            raise DeclarationError(f"{file} cannot be read: {error}") from None

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (
            init_settings,
            _Environment(settings_cls),
            _File(settings_cls, config_file()),
            _Conventional(settings_cls),
        )

    def provider(self, name: str) -> ProviderSettings | None:
        """The entry of that name, be it written down or made of conventional variables."""
        return self.providers.get(name)

    def provider_names(self) -> list[str]:
        return sorted({*self.providers, "local"})


def config_file() -> Path:
    """The configuration file, which need not exist."""
    return Path(os.environ.get("DELTAWIRE_CONFIG") or _FILE)


def say_unless_said(variable: str, value: str) -> None:
    """To a library that has no other place for its settings than the environment."""
    os.environ.setdefault(variable, value)


class _Environment(EnvSettingsSource):
    """The variables, known or not, but for those that Kubernetes sets beside every Service whose name begins with
    deltawire: ``DELTAWIRE_PORT=tcp://…``, ``DELTAWIRE_SERVICE_HOST`` and others do not mean us."""

    @override
    def __call__(self) -> dict[str, Any]:
        said = super().__call__()
        for variable, value in os.environ.items():
            if value and variable.upper().startswith(PREFIX) and not _OTHERS.fullmatch(variable.upper()):
                # pydantic looks only for the names that it knows: with the others it can refuse them
                said.setdefault(variable.upper().removeprefix(PREFIX).partition("__")[0].lower(), value)
        return _with_models({name: value for name, value in said.items() if not str(value).startswith("tcp://")})


class _File(TomlConfigSettingsSource):
    @override
    def __call__(self) -> dict[str, Any]:
        return _with_models(super().__call__())


def _with_models(said: dict[str, Any]) -> dict[str, Any]:
    """``model`` of functions and variants as the ``models`` that it stands for: sources are merged key by key, and
    whoever names one of the two means the other one gone."""
    for function in _tables(said.get("functions")).values():
        for options in (function, *_tables(function.get("variants")).values()):
            if isinstance(options.get("model"), str) and "models" not in options:
                options["models"] = [options.pop("model")]
    return said


def _tables(section: object) -> dict[str, dict[str, object]]:
    """The entries of a section; what is no table is for pydantic to refuse."""
    if not isinstance(section, dict):
        return {}
    entries = cast("dict[str, object]", section)
    return {name: cast("dict[str, object]", entry) for name, entry in entries.items() if isinstance(entry, dict)}


class _Conventional(PydanticBaseSettingsSource):
    """The variables of other tools. What everybody else said goes before."""

    @override
    def get_field_value(self, field: object, field_name: str) -> tuple[Any, str, bool]:
        return None, field_name, False

    @override
    def __call__(self) -> dict[str, Any]:
        found = conventional(os.environ, _tables(self.current_state.get("providers")))
        return {"providers": found.providers} | ({"model": found.model} if found.model else {})


def origins(flags: Mapping[str, object]) -> Origins:
    """Where the settings come from that ``Settings.load(**flags)`` loads."""
    said = {name: value for name, value in flags.items() if value is not None}
    # Every variable that could count does no harm: it is asked for only where nobody else has said anything.
    return Origins(said, os.environ, config_file(), conventional(os.environ, {"azure": {}}).variables)


def _mistakes(error: ValidationError, origins: Origins) -> Iterator[str]:
    """What is wrong, each with the flag, the variable or the key of the file that says so. Values may be secrets and
    are left out."""
    problems = error.errors(include_url=False, include_input=False)
    for problem in problems[:_TOLD]:
        steps = tuple(str(step) for step in problem["loc"])
        place = _without_kind(steps)
        if problem["type"] == "union_tag_invalid":
            place, message = (*place, "kind"), f"known: {', '.join(KINDS)}"
        else:
            message = problem["msg"].removeprefix("Value error, ")
        written = origins.around(place) or Written(".".join(place))
        if problem["type"] == "extra_forbidden":
            section = section_at(Settings, steps[:-1], KINDS)
            message = f"is no setting; {way_out(place, section, in_environment=written.in_environment)}"
            yield f"{written.where} {message}"
        elif problem["type"] == "model_type":
            known = way_out((*place, ""), section_at(Settings, steps, KINDS), in_environment=written.in_environment)
            yield f"{written.where} is a section, and no setting itself; {known}"
        elif problem["type"] == "dict_type":
            yield f"{written.where} is a section, and no setting itself"
        else:
            yield f"{written.where}: {message}"
    if len(problems) > _TOLD:
        yield f"and {len(problems) - _TOLD} more"


def _without_kind(steps: Place) -> Place:
    """pydantic names the kind of a provider's entry as a step of its own; nobody writes it there."""
    if steps[:1] == ("providers",) and len(steps) > 2 and steps[2] in KINDS:
        return (*steps[:2], *steps[3:])
    return steps
