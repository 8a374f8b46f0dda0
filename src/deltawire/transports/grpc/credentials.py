"""The certificate that gRPC is served with, read from the files that the settings name."""

import ssl
from pathlib import Path

import grpc

from deltawire.domain.errors import DeclarationError
from deltawire.transports.grpc.settings import GrpcSettings


def credentials(settings: GrpcSettings) -> grpc.ServerCredentials | None:
    """``None`` where gRPC is served in plain text. Raises ``DeclarationError`` for files that cannot be used."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    certificate, key = _read(settings.tls_cert, "tls_cert"), _read(settings.tls_key, "tls_key")
    roots = settings.tls_client_ca and _read(settings.tls_client_ca, "tls_client_ca")
    _check(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
    return grpc.ssl_server_credentials([(key, certificate)], roots, require_client_auth=roots is not None)


def unusable(settings: GrpcSettings) -> DeclarationError:
    """For what is a certificate to OpenSSL, and none to gRPC, which has a TLS of its own."""
    file = settings.tls_cert if settings.tls_client_ca is None else f"{settings.tls_cert} or {settings.tls_client_ca}"
    return DeclarationError(
        f"gRPC cannot use the certificate in {file}; take one in plain PEM whose key is RSA or ECDSA on P-256"
    )


def _read(file: Path, setting: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise DeclarationError(
            f"grpc.{setting}: {file} cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None


def _check(certificate: Path, key: Path, roots: Path | None) -> None:
    """gRPC would take anything here, and fail with each connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a terminal nobody could be asked for a password.
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise DeclarationError(
            f"grpc.tls_cert and grpc.tls_key: {certificate} and {key} are no certificate and its key in PEM, without a "
            f"password: {error}"
        ) from None
    try:
        if roots is not None:
            context.load_verify_locations(roots)
    except OSError as error:
        raise DeclarationError(f"grpc.tls_client_ca: {roots} holds no certificate in PEM: {error}") from None
