"""The section ``[grpc]`` of the settings."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

from deltawire.domain.limits import Seconds, SecondsOrZero


class GrpcSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    max_message_bytes: Annotated[PositiveInt, Field(lt=2**31)] = 1024 * 1024
    """The largest request. A larger one is refused before it is used."""
    handshake_timeout: Seconds = 10.0
    """Seconds in which a new connection must have become one of HTTP/2, and of TLS where that is served."""
    status_hold: SecondsOrZero = 10.0
    """Seconds for which a stream waits for its first content before its initial metadata goes out."""
    heartbeat: Seconds = 15.0
    """Seconds between the HTTP/2 pings on a connection, by which a caller that is gone is noticed."""
    write_timeout: Seconds = 30.0
    """Seconds for which a caller may make no room for the next message of a call, before the call is ended."""
    tls_cert: Path | None = None
    """The file (PEM) with the certificate and those between it and its root. Unset, gRPC is served in plain text."""
    tls_key: Path | None = None
    """The file (PEM) with the certificate's private key."""
    tls_client_ca: Path | None = None
    """The file (PEM) with the roots of the callers' certificates: with it, who shows none is refused."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key belong together: set both")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ValueError("tls_client_ca needs a certificate of the server's own: set tls_cert and tls_key")
        return self
