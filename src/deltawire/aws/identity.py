"""Who we are for AWS, and in which region, as its own tools find it: variables, then a profile's files, then the
endpoint that a container has beside it (Lambda sets variables; ECS and EKS Pod Identity have the endpoint).

In: the environment, as a mapping. Out: credentials, or an ``AwsError`` that says what is missing.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from deltawire.aws.http import ask_in_time
from deltawire.aws.sigv4 import Credentials
from deltawire.providers.http1.errors import Http1Error

_ECS = "http://169.254.170.2"
_BESIDE = ("127.0.0.1", "localhost", "::1", "169.254.170.2", "169.254.170.23", "fd00:ec2::23")
"""Hosts to which a container's token may go without TLS, as AWS's own tools hold it."""
_SECONDS = 2.0


class AwsError(Exception):
    """What stands between us and a secret: a clause that goes on from its name. Holds no secret."""


class _Handed(msgspec.Struct, rename="pascal"):
    """What a container's endpoint answers."""

    access_key_id: str
    secret_access_key: str
    token: str | None = None


Profile = Mapping[str, str]


async def credentials(environment: Mapping[str, str]) -> Credentials:
    """Raises ``AwsError``."""
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        return Credentials(key, secret, environment.get("AWS_SESSION_TOKEN") or None)
    if key or secret:
        raise AwsError("and only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both")
    profile = _profile(environment)
    if "aws_access_key_id" in profile and "aws_secret_access_key" in profile:
        token = profile.get("aws_session_token") or None
        return Credentials(profile["aws_access_key_id"], profile["aws_secret_access_key"], token)
    relative, full = _container(environment)
    if relative or full:
        return await _handed(f"{_ECS}{relative}" if relative else full, environment)
    if environment.get("AWS_PROFILE") or profile:
        name = environment.get("AWS_PROFILE") or "default"
        raise AwsError(
            f"and the AWS profile '{name}' holds no keys; for one of another kind: "
            f'eval "$(aws configure export-credentials --profile {name} --format env)"'
        )
    raise AwsError(
        "and there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "or run where a role gives them (Lambda, ECS, EKS Pod Identity)"
    )


def region(environment: Mapping[str, str]) -> str:
    """Raises ``AwsError``."""
    said = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or _profile(environment).get("region")
    if not said:
        raise AwsError("and no AWS region is set: set AWS_REGION")
    return said


def _container(environment: Mapping[str, str]) -> tuple[str, str]:
    return (
        environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ""),
        environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", ""),
    )


async def _handed(url: str, environment: Mapping[str, str]) -> Credentials:
    here = "and the endpoint of AWS_CONTAINER_CREDENTIALS_*, which should give the AWS credentials,"
    try:
        parts = urlsplit(url)
        trusted = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _BESIDE)
    except ValueError:
        trusted = False
    if not trusted:
        raise AwsError(f"{here} is neither https:// nor on this host")
    token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
    if file := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        try:
            token = await asyncio.to_thread(Path(file).read_text)
        except (OSError, UnicodeDecodeError):
            raise AwsError("and the file AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read") from None
    try:
        answer = await ask_in_time(_SECONDS, "GET", url, {"authorization": token.strip()} if token else {})
        handed = msgspec.json.decode(answer.body, type=_Handed) if answer.status == 200 else None
    except Http1Error as error:
        raise AwsError(f"{here} cannot be asked: {error}") from None
    except (msgspec.DecodeError, RecursionError):
        raise AwsError(f"{here} answered with none") from None
    if handed is None:
        raise AwsError(f"{here} answered {answer.status}")
    return Credentials(handed.access_key_id, handed.secret_access_key, handed.token or None)


def _profile(environment: Mapping[str, str]) -> Profile:
    """What AWS's two files say of the profile in use; nothing where there are none."""
    name = environment.get("AWS_PROFILE") or "default"
    folder = Path(environment.get("HOME") or "/nonexistent") / ".aws"
    config = Path(environment.get("AWS_CONFIG_FILE") or folder / "config")
    secret = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE") or folder / "credentials")
    return {
        **_section(config, name if name == "default" else f"profile {name}"),
        **_section(secret, name),
    }


def _section(file: Path, name: str) -> Profile:
    if not file.is_file():
        return {}
    from configparser import Error, RawConfigParser  # few have such a file

    parser: Any = RawConfigParser()
    try:
        parser.read_string(file.read_text())
    except (OSError, UnicodeDecodeError, Error):
        raise AwsError(f"and the AWS file {file} cannot be read") from None
    return dict(parser[name]) if parser.has_section(name) else {}
