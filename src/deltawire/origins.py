"""Where the value of a setting was written, and the way out of a name that is none.

In: the place of a setting, and everything that can say something of it. Out: the flag, the variable, or the file and
key.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast, get_args

from pydantic import BaseModel

from deltawire.conventions import Place

PREFIX = "DELTAWIRE_"


@dataclass(frozen=True, slots=True)
class Origins:
    """Everything that says something of the settings, the strongest first."""

    flags: Mapping[str, object]
    environment: Mapping[str, str]
    file: Path
    conventional: Mapping[Place, str]
    """The variables of other tools that are in force, by the place that each of them fills."""

    def of(self, place: Place) -> "Written | None":
        """The first that says it wins, as it does when it is read. ``None`` for a default."""
        return self._of([place])

    def around(self, place: Place) -> "Written | None":
        """The same for a part of a value (of a list, of a mapping in one variable), which was written as a whole."""
        return self._of([place[:length] for length in range(len(place), 0, -1)])

    def _of(self, places: Sequence[Place]) -> "Written | None":
        written = tomllib.loads(self.file.read_text()) if self.file.is_file() else {}
        for said in places:
            variable = variable_of(said)
            if _has(self.flags, said):
                return Written("--" + "-".join(said).replace("_", "-"))
            if found := [name for name in self.environment if f"{name.upper()}__".startswith(f"{variable}__")]:
                return Written(found[0], in_environment=True)
            if _has(written, said):
                return Written(f"{self.file}: {'.'.join(said)}")
            if self.environment.get(self.conventional.get(said, "")):
                return Written(self.conventional[said], in_environment=True)
        return None


@dataclass(frozen=True, slots=True)
class Written:
    where: str
    in_environment: bool = False


def way_out(place: Place, section: Mapping[str, object], *, in_environment: bool) -> str:
    """For a name that is no setting of its section: the nearest one that is, else all of them."""
    spelled = {name: variable_of((*place[:-1], name)) if in_environment else name for name in section}
    name, _, rest = place[-1].partition("_")
    if in_environment and len(place) == 1 and name in section and rest:  # one underscore for two
        return f"did you mean {variable_of((name, rest))}?"
    near = get_close_matches(place[-1], list(section), 1)
    return f"did you mean {spelled[near[0]]}?" if near else f"known: {', '.join(spelled.values())}"


def section_at(root: type[BaseModel], place: Place, kinds: Mapping[str, type[BaseModel]]) -> Mapping[str, object]:
    """The settings at a place, by their names. An entry that may be of several ``kinds`` has its kind as a step."""
    model = root
    steps = iter(place)
    for step in steps:
        annotation = model.model_fields[step].annotation
        if arguments := get_args(annotation):  # dict[str, Model]: the next step is one of its keys
            annotation = arguments[-1]
            next(steps, None)
        if not isinstance(annotation, type):
            annotation = kinds[next(steps)]
        model = cast("type[BaseModel]", annotation)
    return model.model_fields


def variable_of(place: Place) -> str:
    return PREFIX + "__".join(place).upper()


def _has(values: object, place: Place) -> bool:
    if not place:
        return True
    if not isinstance(values, Mapping):
        return False
    inner = cast("Mapping[str, object]", values)
    return place[0] in inner and _has(inner[place[0]], place[1:])
