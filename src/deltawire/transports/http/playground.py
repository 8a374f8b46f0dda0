"""``/``: the playground, a page that runs the functions over every wire; ``/playground.json`` tells it where they are.

The page is what ``make web`` builds of ``web/`` into ``deltawire/playground``. It is read when it is first asked for.
It asks nobody but this server, which a strict policy makes sure of. Where it has not been built, ``/`` says so.
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from deltawire.engine.engine import Engine
from deltawire.engine.plan import Plan
from deltawire.transports.article import unfit
from deltawire.transports.http.documents import Document, json_document
from deltawire.transports.http.refusals import Refusals
from deltawire.transports.http.replies import NO_STORE, Header, send_whole
from deltawire.transports.http.request import values

_BUILT = Path(__file__).parents[2] / "playground"
_INDEX = "index.html"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_GUARDED: tuple[Header, ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_MEDIA = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
}
_FOREVER: Header = (b"cache-control", b"public, max-age=31536000, immutable")
_MISSING = b"""\
deltawire is running. GET /v1/functions lists its functions, and /docs is a page that tries them.

The playground, which belongs here, is missing: this installation was made without it. In a clone of the repository
`make web` builds it, with a Node that it fetches by itself; then load this page again.
"""


def playground(
    engine: Engine, refusals: Refusals, article_function: str, version: str, folder: Path = _BUILT
) -> dict[str, ASGIApp]:
    """By their paths. ``folder`` is where the built page is, or will be."""
    page = _Page(folder)
    return {
        "/": partial(_send_index, page),
        "/assets/{name}": partial(_send_asset, page, refusals),
        "/playground.json": json_document(lambda: _told(engine, article_function, version)),
    }


def is_built(folder: Path = _BUILT) -> bool:
    return (folder / _INDEX).is_file()


class _Asset(NamedTuple):
    media: bytes
    body: bytes
    compressed: bytes | None
    """The same in gzip, where that is worth it."""


class _Files(NamedTuple):
    document: Document
    assets: dict[str, _Asset]


class _Page:
    """What was built. All of it is read at once: a page and its assets belong together, whatever is built meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: _Files | None = None

    def files(self) -> _Files | None:
        """``None`` where nothing has been built yet."""
        if self._files is None and is_built(self._folder):
            index = (self._folder / _INDEX).read_bytes()
            assets = {
                path.name: _Asset(media, path.read_bytes(), _compressed(path))
                for path in (self._folder / "assets").iterdir()
                if (media := _MEDIA.get(path.suffix)) is not None
            }
            self._files = _Files(Document(b"text/html; charset=utf-8", lambda: index, _GUARDED), assets)
        return self._files


def _compressed(path: Path) -> bytes | None:
    beside = path.with_name(f"{path.name}.gz")
    return beside.read_bytes() if beside.is_file() else None


async def _send_index(page: _Page, scope: Scope, receive: Receive, send: Send) -> None:
    if files := page.files():
        await files.document(scope, receive, send)
    else:
        await send_whole(send, 404, b"text/plain; charset=utf-8", _MISSING, [NO_STORE])


async def _send_asset(page: _Page, refusals: Refusals, scope: Scope, receive: Receive, send: Send) -> None:
    """Its name holds a digest of its content: who has it never need ask again."""
    files = page.files()
    asset = files.assets.get(scope["path_params"]["name"]) if files else None
    if asset is None:
        await refusals.unknown_path(scope, receive, send)
    elif asset.compressed is None:
        await send_whole(send, 200, asset.media, asset.body, [_FOREVER])
    elif _takes_gzip(scope):
        headers = [_FOREVER, (b"vary", b"accept-encoding"), (b"content-encoding", b"gzip")]
        await send_whole(send, 200, asset.media, asset.compressed, headers)
    else:
        await send_whole(send, 200, asset.media, asset.body, [_FOREVER, (b"vary", b"accept-encoding")])


def _takes_gzip(scope: Scope) -> bool:
    """RFC 9110 §12.5.3. What is neither named nor meant by a ``*`` is not sent: plain is always right."""
    for coding in ",".join(values(scope, b"accept-encoding")).lower().split(","):
        name, *parameters = (part.replace(" ", "") for part in coding.split(";"))
        if name in ("gzip", "x-gzip"):
            return not any(parameter.strip("0.") == "q=" for parameter in parameters)
    return False


def _told(engine: Engine, article_function: str, version: str) -> dict[str, object]:
    """The addresses are relative to the page's own. A proxy that has the API elsewhere answers with others."""
    plan = engine.plans.get(article_function)
    fit = unfit(plan and plan.function, article_function, engine.plans) is None
    return {
        "api": "./",
        "grpc_web": "./",
        "article_function": article_function if fit else None,
        "scripted": [name for name, plan in engine.plans.items() if _is_scripted(plan)],
        "version": version,
    }


def _is_scripted(plan: Plan) -> bool:
    """Whether its models are all of a provider that is called ``scripted``: that one answers many at once, and all the
    same."""
    return all(model.name.startswith("scripted:") for way in plan.ways for model in way.models)
