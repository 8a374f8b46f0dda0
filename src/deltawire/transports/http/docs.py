"""``/docs``: a page that shows ``/openapi.json`` and lets a reader try its calls.

It is three small files of ours and asks nobody but this server, which a strict policy of its own makes sure of.
"""

from pathlib import Path

from deltawire.transports.http.documents import Document

_STATIC = Path(__file__).with_name("static")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_GUARDED = [(b"content-security-policy", _POLICY.encode()), (b"referrer-policy", b"no-referrer")]


def docs_pages() -> dict[str, Document]:
    """By their paths."""
    return {
        "/docs": Document(b"text/html; charset=utf-8", (_STATIC / "docs.html").read_bytes, _GUARDED),
        "/docs/docs.js": Document(b"text/javascript; charset=utf-8", (_STATIC / "docs.js").read_bytes),
        "/docs/docs.css": Document(b"text/css; charset=utf-8", (_STATIC / "docs.css").read_bytes),
    }
