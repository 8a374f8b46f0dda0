"""A function's parameters as a person writes them: types without their modules, defaults as they stand."""

from inspect import formatannotation
from typing import Annotated, Any, get_args, get_origin

from deltawire.domain.function import Function


def signature(function: Function) -> str:
    """``(message: str, history: list[Message] = [])``."""
    return f"({', '.join(_parameter(name, function) for name in function.inputs.model_fields)})"


def type_name(annotation: Any) -> str:
    """``list[Message]``, whatever the module of ``Message``."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    words = formatannotation(annotation).replace("typing.", "")
    for part in _classes(annotation):
        words = words.replace(f"{part.__module__}.{part.__qualname__}", part.__name__)
    return words


def _parameter(name: str, function: Function) -> str:
    field = function.inputs.model_fields[name]
    written = f"{name}: {type_name(field.annotation)}"
    return written if field.is_required() else f"{written} = {field.get_default(call_default_factory=True)!r}"


def _classes(annotation: Any) -> list[type]:
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _classes(argument)]
