"""The HTTP surface as an ASGI app, to be mounted in one's own."""

from starlette.types import ASGIApp

from deltawire.bootstrap.core import build_core
from deltawire.bootstrap.load import load_functions
from deltawire.observers.log import RunLog
from deltawire.settings import Settings
from deltawire.transports.http.app import build_app


def asgi(app: str) -> ASGIApp:
    """The functions of ``app`` (``"shop.py"``, or a module's name) as an ASGI app.

    Configured like ``deltawire serve``. Whose requests arrive, and under which names, is the outer app's to say: the
    ``Host`` is not checked, the ``Origin`` is. Raises ``DeclarationError`` for what cannot work.
    """
    settings = Settings.load(app=app)
    core = build_core(load_functions(app), settings, [RunLog()])
    return build_app(core.engine, settings.http, on_loopback=False)
