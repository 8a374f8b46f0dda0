"""A function: ordinary code with a typed input, a prompt, a model and an output type.

In: the decorated code. Out: a ``Function`` that knows its input and output as JSON Schema, binds a caller's JSON to its
parameters, and reads an answer as its output type. A declaration that cannot work fails here, with file, line and the
way out.
"""

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack, cast, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from deltawire.domain.errors import DeclarationError, Reason, RunError
from deltawire.domain.limits import Timeouts
from deltawire.domain.options import FunctionSettings, Variant
from deltawire.domain.output import UNUSABLE_TYPE, Output, gist

_LONGEST_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A declared function. Calling it calls the code that it was made from, so that it can be tested as such."""

    name: str
    description: str
    code: Callable[..., object]
    is_async: bool
    inline: bool
    inputs: type[BaseModel]
    text_input: str | None
    """What callers call the one required parameter, where it is a ``str``: a bare string binds to it."""
    output: Output
    settings: FunctionSettings
    file: str
    line: int
    shadows: "Function | None" = field(default=None, repr=False)
    """A function of the same Python name that this one replaced in its module: a mistake that a loader reports."""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.code(*args, **kwargs)

    def with_settings(self, settings: FunctionSettings) -> "Function":
        return replace(self, settings=settings)

    def input_schema(self) -> dict[str, object]:
        return self.inputs.model_json_schema()

    def bind(self, raw: bytes) -> dict[str, object]:
        """The arguments of a call, from the JSON text of its input.

        An object binds by name; a string binds to ``text_input`` as it stands and is never read as JSON. Raises
        ``RunError`` (invalid_input), which names each wrong field and says why.
        """
        start = raw.lstrip()[:1]
        try:
            if start == b'"' and self.text_input is not None:
                bound = self.inputs.model_validate_json(b'{"%s":%s}' % (self.text_input.encode(), raw))
            elif start == b"{":
                bound = self.inputs.model_validate_json(raw)
            else:
                raise RunError(Reason.invalid_input, self._wrong_kind(start))
        except ValidationError as error:
            raise RunError(Reason.invalid_input, describe(error, "input")) from None
        return dict(bound.__dict__)

    def _wrong_kind(self, start: bytes) -> str:
        names = ", ".join(self.inputs.model_fields) or "none"
        if start == b'"':
            return (
                "input: a bare string binds only where exactly one parameter is required and is a str; "
                f"send an object with the fields of '{self.name}': {names}"
            )
        return f"input: must be an object with the fields of '{self.name}': {names}"


def describe(error: ValidationError, root: str) -> str:
    """What pydantic found wrong, for the caller to read: each field's path and why, at most five of them.

    The values are left out: they are the caller's own, and may be long or secret.
    """
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{_shortened('.'.join([root, *(str(step) for step in problem['loc'])]))}: {_shortened(problem['msg'])}"
        for problem in problems[:5]
    ]
    if len(problems) > len(told):
        told.append(f"and {len(problems) - len(told)} more")
    return "; ".join(told)


def _shortened(words: str) -> str:
    """A field may be called as its caller likes, at whatever length."""
    return words if len(words) <= _LONGEST_WORDS else words[: _LONGEST_WORDS - 1] + "…"


class Declared(TypedDict, total=False):
    """The options that ``@function`` takes: see ``domain.options.Options``."""

    model: str | None
    models: Sequence[str] | None
    variants: Sequence[Variant] | None
    temperature: float | None
    max_tokens: int | None
    timeouts: Timeouts | None
    retries: int | None
    hedge_after: float | None
    repair: bool | None
    max_answer_bytes: int | None


@overload
def function(code: Callable[..., object], /) -> Function: ...
@overload
def function(
    *, output: Any = str, name: str | None = None, inline: bool = False, **options: Unpack[Declared]
) -> Callable[[Callable[..., object]], Function]: ...
def function(
    code: Callable[..., object] | None = None,
    /,
    *,
    output: Any = str,
    name: str | None = None,
    inline: bool = False,
    **options: Unpack[Declared],
) -> Function | Callable[[Callable[..., object]], Function]:
    """Declare a function.

    Its signature is the input's schema, its docstring the description, ``output`` the type of the answer (any type that
    pydantic can express as JSON Schema). It returns a ``Prompt``, a string, or messages. ``models`` are asked in their
    order until one answers; ``variants`` are several ways to run the function, each for its share of the users. All
    ``options`` are defaults: the configuration file, the environment and the command line go before them. A plain
    ``def`` runs in a pool of threads, because it may block; ``inline=True`` promises that it does not, and calls it in
    the event loop.

    Raises ``DeclarationError``, with file and line, for a declaration that cannot work.
    """

    def declare(code: Callable[..., object]) -> Function:
        return _declare(code, output, {key: value for key, value in options.items() if value is not None}, name, inline)

    return declare if code is None else declare(code)


def _declare(
    code: Callable[..., object], output: Any, given: dict[str, object], name: str | None, inline: bool
) -> Function:
    if not inspect.isfunction(code):
        raise DeclarationError(f"@function takes a function, not {code!r}: put it above a def or async def")
    named = name or code.__name__
    written = inspect.unwrap(code)  # other decorators may stand between: what counts is where the author wrote it
    file, line = written.__code__.co_filename, written.__code__.co_firstlineno
    at = f"{file}:{line}: function '{named}'"
    if not named.isidentifier():
        raise DeclarationError(f"{at}: a function's name is a Python identifier, and '{named}' is none")
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise DeclarationError(f"{at} yields: return a Prompt instead, the model's answer is what is streamed")
    try:
        settings = FunctionSettings.model_validate(_with_variants(given, at))
    except ValidationError as error:
        raise DeclarationError(f"{at}: {describe(error, '@function')}") from None
    inputs = _inputs_of(code, at)
    shadowed = written.__globals__.get(code.__name__)
    return Function(
        name=named,
        description=inspect.getdoc(code) or "",
        code=code,
        is_async=inspect.iscoroutinefunction(code),
        inline=inline,
        inputs=inputs,
        text_input=_text_input(inputs),
        output=Output.of(output, at),
        settings=settings,
        file=file,
        line=line,
        shadows=shadowed if isinstance(shadowed, Function) and shadowed.file == file else None,
    )


def _with_variants(given: dict[str, object], at: str) -> dict[str, object]:
    """The options with the declared variants by their names."""
    variants = given.get("variants")
    if variants is None:
        return given
    named: dict[str, object] = {}
    for variant in cast("Sequence[Variant]", variants):
        if variant.name in named:
            raise DeclarationError(f"{at}: two variants are called '{variant.name}': rename one of the two")
        named[variant.name] = variant.options()
    return given | {"variants": named}


def _inputs_of(code: Callable[..., object], at: str) -> type[BaseModel]:
    """The signature as a model. Every parameter can be given by name, and has a type that JSON can carry."""
    signature = inspect.signature(code)
    try:
        hints = get_type_hints(code, include_extras=True)
    except (NameError, AttributeError) as error:
        raise DeclarationError(f"{at}: {error}: the name is not known at the function's module level") from None
    except SyntaxError as error:
        raise DeclarationError(f"{at}: a parameter's type is no Python: {error.msg}") from None
    fields: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DeclarationError(f"{at}: parameter '{parameter}' has no schema: name each parameter, or take a list")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise DeclarationError(f"{at}: parameter '{parameter.name}' is positional-only: remove the '/'")
        if parameter.name.startswith("_"):
            raise DeclarationError(f"{at}: parameter '{parameter.name}' begins with an underscore: rename it")
        if parameter.name not in hints:
            raise DeclarationError(f"{at}: parameter '{parameter.name}' has no type: write {parameter.name}: str")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    try:
        model = _model(code.__name__, fields)
        model.model_json_schema()
    except UNUSABLE_TYPE as error:
        raise DeclarationError(f"{at}: {_culprit(fields)}: {gist(error)}") from None
    if lost := fields.keys() - model.model_fields.keys():
        raise DeclarationError(f"{at}: parameter '{min(lost)}' cannot have this name or type: change it")
    return model


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    with warnings.catch_warnings():
        # A parameter may be called `json` or `schema`: it hides a method of the model that nobody calls on it.
        warnings.filterwarnings("ignore", message='Field name ".*" in ".*" shadows an attribute')
        return create_model(name, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields)


def _culprit(fields: dict[str, Any]) -> str:
    """The parameter that no JSON Schema expresses, found by trying each alone."""
    for name, declaration in fields.items():
        try:
            _model("alone", {name: declaration}).model_json_schema()
        except UNUSABLE_TYPE:
            return f"parameter '{name}' cannot be read from JSON"
    return "the parameters cannot be read from JSON"


def _text_input(inputs: type[BaseModel]) -> str | None:
    required = [(name, info) for name, info in inputs.model_fields.items() if info.is_required()]
    match required:
        case [(name, info)] if info.annotation is str:
            called = name if info.validation_alias is None else info.validation_alias
            return called if isinstance(called, str) else None
        case _:
            return None
