"""The examination: settings and where they come from, secrets, models, limits. Out comes a ``Report``.

It ends early only where nothing more can be known: whatever is wrong is a finding, not an exception.
"""

import asyncio
from collections.abc import Callable, Mapping

from deltawire.bootstrap.article import check_article_function
from deltawire.bootstrap.doctor.limits import InForce, contradictions
from deltawire.bootstrap.doctor.listing import listed, secrets_of
from deltawire.bootstrap.doctor.reach import reach
from deltawire.bootstrap.doctor.report import Finding, Reached, Report, Secret
from deltawire.bootstrap.load import load_functions
from deltawire.bootstrap.resolve import Resolved, resolved
from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function
from deltawire.origins import Origins
from deltawire.settings import DEFAULT_MODEL, Settings, origins

Progress = Callable[[str], None]


def examine(version: str, *, app: str | None, model: str | None, call: bool, progress: Progress) -> Report:
    """``app`` and ``model`` are the command line's. Without an app, the settings alone are looked at, and the model of
    functions that name none. ``progress`` hears what takes its time."""
    findings: list[Finding] = []
    try:
        settings = Settings.load(app=app)
    except DeclarationError as error:
        wrong = Finding("trouble", "settings", str(error))
        return Report(version=version, app=app, settings=[], secrets=[], models=[], findings=[wrong])
    functions = _functions(settings, findings)
    in_force = _in_force(functions, settings, model, findings)
    used = _used(in_force) or {model or settings.model or DEFAULT_MODEL: list[str]()}
    written = origins({"app": app, "model": model})
    models = asyncio.run(_reached(used, settings, progress if call else _nothing, call=call))
    findings += contradictions(settings, in_force)
    findings += _unfit(functions, settings)
    findings += [Finding("trouble", found.model, found.message or "not reached") for found in models if _failed(found)]
    return Report(
        version=version,
        app=settings.app,
        settings=list(listed(settings.model_copy(update={"model": model or settings.model}), written, functions)),
        secrets=_secrets(used, settings, written),
        models=models,
        findings=findings,
    )


def _functions(settings: Settings, findings: list[Finding]) -> Mapping[str, Function]:
    if settings.app is None:
        findings.append(Finding("note", "app", "no app is named: only the settings were looked at"))
        return {}
    try:
        return load_functions(settings.app)
    except DeclarationError as error:
        findings.append(Finding("trouble", "app", str(error)))
        return {}


def _in_force(
    functions: Mapping[str, Function], settings: Settings, model: str | None, findings: list[Finding]
) -> list[InForce]:
    if not functions:
        return []
    try:
        found = resolved(functions, settings, model)
    except DeclarationError as error:
        findings.append(Finding("trouble", "functions", str(error)))
        known = {name.lower() for name in functions}
        ours = {name: said for name, said in settings.functions.items() if name.lower() in known}
        found = _resolved_alone(functions, settings.model_copy(update={"functions": ours}), model, findings)
    return [
        InForce(
            function=name if way.variant is None else f"{name} ({way.variant})",
            timeouts=way.options.timeouts,
            max_tokens=way.options.max_tokens,
            max_answer_bytes=one.function.settings.max_answer_bytes,
            models=way.models,
            hedge_after=way.options.hedge_after,
        )
        for name, one in found.items()
        for way in one.ways
    ]


def _resolved_alone(
    functions: Mapping[str, Function], settings: Settings, model: str | None, findings: list[Finding]
) -> dict[str, Resolved]:
    """Each function by itself: one that cannot work hides no other."""
    found: dict[str, Resolved] = {}
    for name, function in functions.items():
        ours = {said: options for said, options in settings.functions.items() if said.lower() == name.lower()}
        try:
            found |= resolved({name: function}, settings.model_copy(update={"functions": ours}), model)
        except DeclarationError as error:
            finding = Finding("trouble", "functions", str(error))
            if finding not in findings:
                findings.append(finding)
    return found


def _unfit(functions: Mapping[str, Function], settings: Settings) -> list[Finding]:
    try:
        if functions:
            check_article_function(functions, settings)
    except DeclarationError as error:
        return [Finding("trouble", "article_function", str(error))]
    return []


def _used(in_force: list[InForce]) -> dict[str, list[str]]:
    """Each model with the functions that may run on it, in the order of their first use."""
    used: dict[str, list[str]] = {}
    for one in in_force:
        for model in one.models:
            names = used.setdefault(model, [])
            if one.function not in names:
                names.append(one.function)
    return used


async def _reached(used: dict[str, list[str]], settings: Settings, progress: Progress, *, call: bool) -> list[Reached]:
    progress(f"asking {', '.join(used)} ...")
    return await asyncio.gather(*(reach(model, names, settings, call=call) for model, names in used.items()))


def _secrets(used: Mapping[str, list[str]], settings: Settings, written: Origins) -> list[Secret]:
    names = dict.fromkeys(model.partition(":")[0] for model in used)
    entries = {name: entry for name in names if (entry := settings.provider(name)) is not None}
    return [secret for name, entry in entries.items() for secret in secrets_of(name, entry, written)]


def _failed(model: Reached) -> bool:
    return model.reached is False


def _nothing(_: str) -> None:
    pass
