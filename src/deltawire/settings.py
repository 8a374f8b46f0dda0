"""Everything that can be configured: by the command line, the environment and ``deltawire.toml``, in this order.

Each room owns its section; here they are put together, and here the environment is read. A variable begins with
``DELTAWIRE_``, and ``__`` goes one section down: ``DELTAWIRE_HTTP__STATUS_HOLD`` is ``status_hold`` of ``[http]``.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, cast, get_args

from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from typing_extensions import override

from deltawire.domain.errors import DeclarationError
from deltawire.domain.limits import Timeouts
from deltawire.domain.options import FunctionSettings
from deltawire.observers.log import LogSettings
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.transports.http.settings import HttpSettings

DEFAULT_MODEL = "local:smollm2"
_FILE = "deltawire.toml"
_PREFIX = "DELTAWIRE_"
_OTHERS = re.compile(_PREFIX + r"(CONFIG|TEST_.*|(.*_)?SERVICE_(HOST|PORT)(_.*)?|(.*_)?PORT_\d+_(TCP|UDP)(_.*)?)")
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
        env_prefix=_PREFIX,
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
    timeouts: Timeouts = Timeouts()
    """For all functions; ``[functions.NAME.timeouts]`` for one."""
    functions: dict[str, FunctionSettings] = {}
    providers: dict[str, OpenAISettings] = {}
    local: LocalSettings = LocalSettings()
    http: HttpSettings = HttpSettings()
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
            raise DeclarationError("; ".join(_mistakes(error, said, file))) from None
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
        return init_settings, _Environment(settings_cls), _File(settings_cls, config_file())

    def provider(self, name: str) -> OpenAISettings | None:
        """The entry of that name. ``openai`` exists without being written down, from its conventional variables."""
        entry = self.providers.get(name)
        if name != "openai":
            return entry
        conventional: dict[str, Any] = {"api_key": "env:OPENAI_API_KEY"}
        if url := os.environ.get("OPENAI_BASE_URL"):
            conventional["base_url"] = url
        return OpenAISettings(**(conventional | (entry.model_dump(exclude_unset=True) if entry else {})))

    def provider_names(self) -> list[str]:
        return sorted({*self.providers, "openai", "local"})


def config_file() -> Path:
    """The configuration file, which need not exist."""
    return Path(os.environ.get("DELTAWIRE_CONFIG") or _FILE)


class _Environment(EnvSettingsSource):
    """The variables, known or not, but for those that Kubernetes sets beside every Service whose name begins with
    deltawire: ``DELTAWIRE_PORT=tcp://…``, ``DELTAWIRE_SERVICE_HOST`` and others do not mean us."""

    @override
    def __call__(self) -> dict[str, Any]:
        said = super().__call__()
        for variable, value in os.environ.items():
            if value and variable.upper().startswith(_PREFIX) and not _OTHERS.fullmatch(variable.upper()):
                # pydantic looks only for the names that it knows: with the others it can refuse them
                said.setdefault(variable.upper().removeprefix(_PREFIX).partition("__")[0].lower(), value)
        return _with_models({name: value for name, value in said.items() if not str(value).startswith("tcp://")})


class _File(TomlConfigSettingsSource):
    @override
    def __call__(self) -> dict[str, Any]:
        return _with_models(super().__call__())


def _with_models(said: dict[str, Any]) -> dict[str, Any]:
    """``model`` of functions and variants as the ``models`` that it stands for: sources are merged key by key, and
    whoever names one of the two means the other one gone."""
    for function in _tables(said.get("functions")):
        for options in (function, *_tables(function.get("variants"))):
            if isinstance(options.get("model"), str) and "models" not in options:
                options["models"] = [options.pop("model")]
    return said


def _tables(section: object) -> list[dict[str, Any]]:
    if not isinstance(section, dict):
        return []
    return [table for table in cast("dict[str, object]", section).values() if isinstance(table, dict)]


Place = tuple[str, ...]
"""Where a setting is: ``("http", "status_hold")``."""


def _mistakes(error: ValidationError, flags: Mapping[str, object], file: Path) -> Iterator[str]:
    """What is wrong, each with the flag, the variable or the key of the file that says so. Values may be secrets and
    are left out."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    for problem in problems[:_TOLD]:
        place = tuple(str(step) for step in problem["loc"])
        written = _Written(place, flags, file)
        if problem["type"] == "extra_forbidden":
            yield f"{written.where} is no setting; {_known(place, written)}"
        else:
            yield f"{written.where}: {problem['msg'].removeprefix('Value error, ')}"
    if len(problems) > _TOLD:
        yield f"and {len(problems) - _TOLD} more"


class _Written:
    """Where the value in force at a place was written; the first that says it wins, as it does when it is read."""

    def __init__(self, place: Place, flags: Mapping[str, object], file: Path) -> None:
        self.in_environment = False
        # A value with parts (a list, a mapping in one variable) was written at a place further up.
        for said in (place[:length] for length in range(len(place), 0, -1)):
            variable = _variable(said)
            if _has(flags, said):
                self.where = "--" + "-".join(said).replace("_", "-")
                return
            if found := [name for name in os.environ if f"{name.upper()}__".startswith(f"{variable}__")]:
                self.where, self.in_environment = found[0], True
                return
            if file.is_file() and _has(tomllib.loads(file.read_text()), said):
                self.where = f"{file}: {'.'.join(said)}"
                return
        self.where = ".".join(place)


def _known(place: Place, written: _Written) -> str:
    """The way out of a name that is none: the nearest one that is, else all of them."""
    names = list(_section(place[:-1]))
    spelled = {name: _variable((*place[:-1], name)) if written.in_environment else name for name in names}
    section, _, rest = place[-1].partition("_")
    if written.in_environment and len(place) == 1 and section in names and rest:  # one underscore for two
        return f"did you mean {_variable((section, rest))}?"
    near = get_close_matches(place[-1], names, 1)
    return f"did you mean {spelled[near[0]]}?" if near else f"known: {', '.join(spelled.values())}"


def _section(place: Place) -> Mapping[str, object]:
    """The settings at a place, by their names."""
    model: type[BaseModel] = Settings
    steps = iter(place)
    for step in steps:
        annotation = model.model_fields[step].annotation
        if arguments := get_args(annotation):  # dict[str, Model]: the next step is one of its keys
            annotation = arguments[-1]
            next(steps, None)
        model = cast("type[BaseModel]", annotation)
    return model.model_fields


def _variable(place: Place) -> str:
    return _PREFIX + "__".join(place).upper()


def _has(values: object, place: Place) -> bool:
    if not place:
        return True
    if not isinstance(values, Mapping):
        return False
    inner = cast("Mapping[str, object]", values)
    return place[0] in inner and _has(inner[place[0]], place[1:])
