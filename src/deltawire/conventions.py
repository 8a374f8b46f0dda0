"""The variables that other tools read for their providers, and that work here as they stand.

In: the environment, and what was said of the providers elsewhere, which goes before. Out: settings, and which variable
each of them comes from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Place = tuple[str, ...]
"""Where a setting is: ``("http", "status_hold")``."""

_CREDENTIALS = {"api_key", "token", "credential"}


@dataclass(frozen=True, slots=True)
class Conventional:
    """Settings that nobody wrote down, each with its variable."""

    model: str | None = None
    providers: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    variables: dict[Place, str] = field(default_factory=dict[Place, str])


def conventional(environment: Mapping[str, str], said: Mapping[str, Mapping[str, object]]) -> Conventional:
    """``said`` are the providers' entries as they were written; what they say is left alone.

    ``OPENAI_CHAT_ENGINE`` names a deployment of Azure: then the variables that begin with ``OPENAI_`` are Azure's, and
    the deployment is what functions without a model run on.
    """
    found = Conventional(model=None)
    engine = environment.get("OPENAI_CHAT_ENGINE")
    if engine:
        found = Conventional(model=f"azure:{engine}", variables={("model",): "OPENAI_CHAT_ENGINE"})
    else:
        _fill(found, "openai", said, {"api_key": ["OPENAI_API_KEY"], "base_url": ["OPENAI_BASE_URL"]}, environment)
    azure = {
        "endpoint": ["AZURE_OPENAI_ENDPOINT"],
        "api_key": ["AZURE_OPENAI_API_KEY"],
        "api_version": ["OPENAI_API_VERSION"],
    }
    if engine:
        azure["endpoint"].insert(0, "OPENAI_API_BASE")
        azure["api_key"].insert(0, "OPENAI_API_KEY")
    if engine or "azure" in said or environment.get("AZURE_OPENAI_ENDPOINT"):
        _fill(found, "azure", said, azure, environment)
    return found


def _fill(
    found: Conventional,
    kind: str,
    said: Mapping[str, Mapping[str, object]],
    variables: Mapping[str, list[str]],
    environment: Mapping[str, str],
) -> None:
    """The provider that is called like its kind, from the first variable that is set for each field."""
    entry = said.get(kind, {})
    if entry.get("kind", kind) != kind:  # somebody uses the name for something else
        return
    fields = {"kind": kind}
    for name, candidates in variables.items():
        if name in entry or (name == "api_key" and entry.keys() & _CREDENTIALS):
            continue
        variable = next((candidate for candidate in candidates if environment.get(candidate)), candidates[0])
        if name == "api_key":
            fields[name] = f"env:{variable}"  # also where it is not set: the error then says what to set
        elif value := environment.get(variable):
            fields[name] = value
        else:
            continue
        found.variables["providers", kind, name] = variable
    found.providers[kind] = fields
