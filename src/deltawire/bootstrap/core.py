"""The engine with everything that it needs: the functions, their settings, and the providers that they name.

Imports no web framework: a server, a Lambda or a command line stands on it.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from deltawire.bootstrap.resolve import ResolvedWay, resolved
from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function
from deltawire.domain.ports import Observer, Provider
from deltawire.engine.admission import Admission
from deltawire.engine.breaker import Breaker
from deltawire.engine.engine import Engine
from deltawire.engine.plan import Model, Plan, Way
from deltawire.providers import registry
from deltawire.secrets import Secrets
from deltawire.settings import Settings

logger = logging.getLogger("deltawire")

_THREADS = 64
"""For functions that are a plain ``def`` and may block."""


class Core:
    """The engine, and what must be closed when it is not needed any more."""

    def __init__(self, engine: Engine, providers: Sequence[Provider], pool: ThreadPoolExecutor) -> None:
        self.engine = engine
        self._providers = providers
        self._pool = pool

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


def build_core(
    functions: Mapping[str, Function],
    settings: Settings,
    observers: Sequence[Observer],
    *,
    model: str | None = None,
    providers: Mapping[str, Provider] | None = None,
    only: str | None = None,
    shared: registry.Shared | None = None,
) -> Core:
    """``model`` goes before what everybody else says: it is the command line's. ``providers`` are ready-made ones, by
    name, for tests. ``only`` is the one function that will be called: what the others need is not asked for. ``shared``
    has the processes of local models, where several of us share them. Raises ``DeclarationError`` for whatever cannot
    work, before the first call."""
    opened = _Providers(settings, dict(providers or {}), shared)
    plans = {
        name: Plan(found.function, tuple(opened.way(way, name) for way in found.ways))
        for name, found in resolved(functions, settings, model).items()
        if only is None or name == only
    }
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="deltawire")
    return Core(Engine(plans, observers, pool, Admission(settings.max_runs)), opened.all(), pool)


class _Providers:
    """Opens each provider that is named, once, and has a breaker for each model."""

    def __init__(self, settings: Settings, ready: dict[str, Provider], shared: registry.Shared | None) -> None:
        self._settings = settings
        self._shared = shared
        self._open: dict[str, Provider] = ready
        self._breakers: dict[str, Breaker] = {}
        self._secrets = Secrets()

    def all(self) -> list[Provider]:
        return list(self._open.values())

    def way(self, way: ResolvedWay, function: str) -> Way:
        models = tuple(self._model(name, function) for name in way.models)
        return Way(way.variant, way.weight, way.options, models)

    def _model(self, name: str, function: str) -> Model:
        provider, separator, model = name.partition(":")
        if not separator or not provider or not model:
            raise DeclarationError(f"the model '{name}' of function '{function}' is written provider:model")
        # A local model is a process of its own: what is open for one is nothing to another, which may not even exist.
        key = name if provider == "local" and provider not in self._open else provider
        if key not in self._open:
            self._open[key] = self._opened(provider, model, function)
        breaker = self._breakers.setdefault(name, Breaker(name, self._settings.breaker))
        return Model(name, model, self._open[key], breaker)

    def _opened(self, name: str, model: str, function: str) -> Provider:
        if name == "local":
            return registry.local(self._settings.local, model, logger.info, self._shared)
        entry = self._settings.provider(name)
        if entry is None:
            known = ", ".join(self._settings.provider_names())
            raise DeclarationError(
                f"function '{function}' uses provider '{name}', which the settings do not have; known: {known}"
            )

        def read(written: str, setting: str, *, anew: bool = False) -> str:
            what = f"the {setting} of provider '{name}', which function '{function}' uses,"
            return self._secrets.read(written, what, anew=anew)

        return registry.configured(name, entry, read)
