"""gRPC in TLS, with the callers' certificates or without, and files that cannot be used."""

from pathlib import Path

import grpc
import pytest
import trustme

from deltawire.v1 import functions_pb2 as pb
from tests.cli.apps import shop
from tests.cli.command import deltawire, free_port
from tests.matrix.server import serving
from tests.transports.grpc_port.caller import functions

pytestmark = pytest.mark.anyio

OK, UNAVAILABLE = grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE
_NAME = "127.0.0.1"


class Files:
    """An authority, and the files of a server whose certificate is from it."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.cert, self.key, self.roots = (folder / name for name in ("cert.pem", "key.pem", "roots.pem"))
        own = self.authority.issue_cert(_NAME)
        self.cert.write_bytes(b"".join(part.bytes() for part in own.cert_chain_pems))
        self.key.write_bytes(own.private_key_pem.bytes())
        self.roots.write_bytes(self.authority.cert_pem.bytes())

    def settings(self, *, mutual: bool = False) -> dict[str, str]:
        roots = {"DELTAWIRE_GRPC__TLS_CLIENT_CA": str(self.roots)} if mutual else {}
        return {"DELTAWIRE_GRPC__TLS_CERT": str(self.cert), "DELTAWIRE_GRPC__TLS_KEY": str(self.key), **roots}

    def credentials(self, issuer: trustme.CA | None = None) -> grpc.ChannelCredentials:
        """A caller's, with a certificate of that issuer's."""
        roots = self.authority.cert_pem.bytes()
        if issuer is None:
            return grpc.ssl_channel_credentials(roots)
        own = issuer.issue_cert("caller.example")
        chain = b"".join(part.bytes() for part in own.cert_chain_pems)
        return grpc.ssl_channel_credentials(roots, own.private_key_pem.bytes(), chain)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def _outcome(port: int, credentials: grpc.ChannelCredentials | None) -> grpc.StatusCode:
    async with functions(port, credentials) as stub:
        return await stub.list(pb.ListRequest(), timeout=10).code()


async def test_the_server_shows_its_certificate(environment: dict[str, str], files: Files, tmp_path: Path) -> None:
    with serving(tmp_path, {**environment, **files.settings()}) as server:
        assert await _outcome(server.grpc_port, files.credentials()) is OK
        assert (
            await _outcome(server.grpc_port, Files(tmp_path).credentials()) is UNAVAILABLE
        )  # of an authority of its own
        assert await _outcome(server.grpc_port, None) is UNAVAILABLE
        assert server.runs_logged() == []  # and nothing in the log that is no JSON


async def test_callers_must_show_theirs(environment: dict[str, str], files: Files, tmp_path: Path) -> None:
    with serving(tmp_path, {**environment, **files.settings(mutual=True)}) as server:
        assert await _outcome(server.grpc_port, files.credentials(files.authority)) is OK
        assert await _outcome(server.grpc_port, files.credentials()) is UNAVAILABLE
        assert await _outcome(server.grpc_port, files.credentials(trustme.CA())) is UNAVAILABLE
        assert server.runs_logged() == []


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"TLS_KEY": ""}, "tls_cert and tls_key belong together: set both"),
        ({"TLS_CERT": "", "TLS_KEY": ""}, "tls_client_ca needs a certificate of the server's own"),
        ({"TLS_CERT": "none.pem"}, "grpc.tls_cert: none.pem cannot be read: no such file or directory"),
        ({"TLS_KEY": "."}, "grpc.tls_key: . cannot be read: is a directory"),
        ({"TLS_KEY": "roots.pem"}, "are no certificate and its key in PEM"),
        ({"TLS_KEY": "other.pem"}, "are no certificate and its key in PEM"),
        ({"TLS_CERT": "marked.pem"}, "gRPC cannot use the certificate in marked.pem or "),
        ({"TLS_CLIENT_CA": "key.pem"}, "grpc.tls_client_ca: key.pem holds no certificate in PEM"),
    ],
)
async def test_files_that_cannot_be_used_are_an_error_at_start(
    files: Files, tmp_path: Path, changed: dict[str, str], complaint: str
) -> None:
    (tmp_path / "other.pem").write_bytes(files.authority.issue_cert(_NAME).private_key_pem.bytes())
    (tmp_path / "marked.pem").write_bytes(b"\xef\xbb\xbf" + files.cert.read_bytes())  # OpenSSL takes it
    settings = {
        **files.settings(mutual=True),
        **{f"DELTAWIRE_GRPC__{name}": value for name, value in changed.items()},
        "DELTAWIRE_GRPC_PORT": str(free_port()),
        "DELTAWIRE_MODEL": "openai:m",
        "OPENAI_API_KEY": "k",
    }
    ended = await deltawire("serve", str(shop(tmp_path)), "--port", "off", env=settings, cwd=tmp_path)
    assert ended.code == 2
    assert complaint in ended.complaint
