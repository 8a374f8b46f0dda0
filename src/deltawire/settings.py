"""Everything that can be configured: by the command line, the environment and ``deltawire.toml``, in this order.

Each room owns its section; here they are put together, and here the environment is read. A variable begins with
``DELTAWIRE_``, and ``__`` goes one section down: ``DELTAWIRE_HTTP__STATUS_HOLD`` is ``status_hold`` of ``[http]``.
"""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource
from typing_extensions import override

from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import FunctionSettings, describe
from deltawire.domain.limits import Timeouts
from deltawire.observers.log import LogSettings
from deltawire.providers.local.settings import LocalSettings
from deltawire.providers.openai.settings import OpenAISettings
from deltawire.transports.http.settings import HttpSettings

DEFAULT_MODEL = "local:smollm2"
_DEFAULT_PORT = 8000
_FILE = "deltawire.toml"


def _port(value: object) -> object:
    match value:
        case "off":
            return 0
        case str() if value.startswith("tcp://"):
            # Kubernetes sets DELTAWIRE_PORT=tcp://… beside every Service that is called deltawire. It is not meant.
            return _DEFAULT_PORT
        case _:
            return value


Port = Annotated[int, BeforeValidator(_port), Field(ge=0, le=65535)]
"""A TCP port; ``off`` or 0 switches it off."""


class Settings(BaseSettings):
    """The settings in force. ``load`` makes them; nothing changes them."""

    model_config = SettingsConfigDict(
        env_prefix="DELTAWIRE_",
        env_nested_delimiter="__",
        enable_decoding=False,  # a list in a variable is written with commas, not as JSON
        extra="forbid",
        frozen=True,
        toml_file=_FILE,
    )

    app: str | None = None
    """The file, or the module, with the functions."""
    host: str = "127.0.0.1"
    port: Port = _DEFAULT_PORT
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
        file = os.environ.get("DELTAWIRE_CONFIG", "")
        if file and not Path(file).is_file():
            raise DeclarationError(f"DELTAWIRE_CONFIG names {file}, which is no file")
        try:
            return cls(**{name: value for name, value in flags.items() if value is not None})  # pyright: ignore[reportArgumentType]  (checked by pydantic)
        except ValidationError as error:
            raise DeclarationError(f"the configuration is wrong: {describe(error, 'settings')}") from None
        except tomllib.TOMLDecodeError as error:
            raise DeclarationError(f"{file or _FILE} is no TOML: {error}") from None

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
        file = os.environ.get("DELTAWIRE_CONFIG") or _FILE
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=file)

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
