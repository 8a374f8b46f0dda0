"""Every setting with its value and where it was written. Values that may be secrets are left out."""

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import BaseModel

from deltawire.bootstrap.doctor.report import Secret, Setting
from deltawire.conventions import Place
from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function
from deltawire.origins import Origins, Written
from deltawire.providers.settings import ProviderSettings
from deltawire.providers.shown_url import shown_url
from deltawire.secrets import Secrets, place_of
from deltawire.settings import Settings

DEFAULT = "default"
SECRETS = ("api_key", "token")
_URLS = ("base_url", "endpoint")
_LENGTHS = ((16, "under 16 characters"), (64, "16 to 63 characters"), (1024, "64 to 1023 characters"))


def listed(settings: Settings, origins: Origins, functions: Mapping[str, Function]) -> Iterator[Setting]:
    """In the order of the documentation, defaults included; then what decorators say and nobody else does."""
    said: set[Place] = set()
    for place, value in _leaves(settings, ()):
        written = _written(place, origins)
        name = ".".join(place)
        if written is not None:
            said.add(_plain(place))
        origin = written.where if written else DEFAULT
        yield Setting(name, _shown(place, value), "the command line" if origin == "--app" else origin)
    for function in functions.values():
        for place, value in _leaves(function.settings, ("functions", function.name), only_said=True):
            if _plain(place) not in said:
                yield Setting(".".join(place), _shown(place, value), f"the decorator at {function.where}")


def secrets_of(name: str, entry: ProviderSettings, origins: Origins) -> Iterator[Secret]:
    for setting in SECRETS:
        written = getattr(entry, setting, None)
        if not isinstance(written, str):
            continue
        place = origins.of(("providers", name, setting))
        origin = place_of(written) or (place.where if place else setting)
        try:
            yield Secret(name, setting, origin, True, _length(len(Secrets().read(written, setting))))
        except DeclarationError:
            yield Secret(name, setting, origin, False, None)


def _leaves(model: BaseModel, place: Place, *, only_said: bool = False) -> Iterator[tuple[Place, object]]:
    for name in type(model).model_fields:
        if only_said and name not in model.model_fields_set:
            continue
        value: object = getattr(model, name)
        here = (*place, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, here, only_said=only_said)
            continue
        entries = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        inner = {key: entry for key, entry in entries.items() if isinstance(entry, BaseModel)}
        for key, entry in inner.items():
            yield from _leaves(entry, (*here, key), only_said=True)
        if not inner and not (place == () and isinstance(value, dict)):
            yield here, value


def _written(place: Place, origins: Origins) -> Written | None:
    """The place, or ``model``, which stands for ``models`` with one member."""
    written = origins.of(place)
    return origins.of((*place[:-1], "model")) if written is None and place[-1:] == ("models",) else written


def _plain(place: Place) -> Place:
    """Without case, and ``model`` as what it stands for: whoever says one of the two means the other one gone."""
    return tuple("models" if step == "model" else step.lower() for step in place)


def _shown(place: Place, value: object) -> object:
    match value:
        case str() if place[-1] in SECRETS:
            return value if place_of(value) else "(hidden)"
        case str() if place[-1] in _URLS or "://" in value:
            return shown_url(value)
        case str():
            return value
        case dict():
            return {str(key): "(hidden)" for key in cast("dict[object, object]", value)}
        case None | bool() | int() | float():
            return value
        case tuple() | list():
            return [str(part) for part in cast("tuple[object, ...]", value)]
        case _:
            return str(value)


def _length(characters: int) -> str:
    return next((words for below, words in _LENGTHS if characters < below), "1024 characters and more")
