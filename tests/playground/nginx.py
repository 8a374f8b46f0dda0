"""The recipe of ``deploy/nginx`` in a real nginx."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests import nginx as real

RECIPE = Path(__file__).parents[2] / "deploy" / "nginx" / "deltawire.conf"
_AROUND = "gzip on; gzip_types *; gzip_min_length 0; proxy_ignore_headers X-Accel-Buffering;\n"
_NONE: Mapping[str, str] = {}


@contextmanager
def nginx(
    folder: Path, http_port: int, grpc_web_port: int, port: int | None = None, changes: Mapping[str, str] = _NONE
) -> Generator[str]:
    """Its URL; behind it are a server's HTTP port, and that or an Envoy's for gRPC-Web. What stands once in the recipe
    can be changed.

    Around the recipe is what may be around it elsewhere, and it has to hold against: a compressor for everything, and
    no regard for the server's own word against buffers."""
    ports = (http_port, grpc_web_port)

    def configured(address: str) -> str:
        recipe = _replaced(RECIPE.read_text(), "listen 80;", f"listen {address};")
        first, *rest = recipe.split("server 127.0.0.1:8000;")
        assert len(rest) == len(ports), f"{RECIPE.name} has other servers than those of HTTP and gRPC-Web"
        text = first + "".join(f"server 127.0.0.1:{port};{part}" for port, part in zip(ports, rest, strict=True))
        for old, new in changes.items():
            text = _replaced(text, old, new)
        return _AROUND + text

    with real.nginx(folder, configured, port) as url:
        yield url


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"'{old}' stands {text.count(old)} times in {RECIPE.name}"
    return text.replace(old, new)
