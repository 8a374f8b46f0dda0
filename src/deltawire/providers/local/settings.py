"""The section of the settings that tells how the local model runs."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from deltawire.domain.limits import Seconds


class LocalSettings(BaseModel):
    """``[local]``: what the local model may take of this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    slots: int = Field(default=2, ge=1, le=64, description="Requests answered at once; more of them wait.")
    context: int = Field(default=4096, ge=256, description="Tokens of prompt and answer together, a slot.")
    threads: int = Field(default=1, ge=1, description="Threads that compute. More help only on idle cores.")
    model_path: Path | None = Field(default=None, description="Another GGUF file than the installed weights.")
    start_timeout: Seconds = Field(default=120, description="Seconds that loading the model may take.")
    environment: dict[str, str] = Field(
        default_factory=dict, description="The model process's environment, LD_LIBRARY_PATH for one. It inherits none."
    )
