"""The stores that hand out a secret: SSM Parameter Store and Secrets Manager, over their JSON protocol.

In: the name of a secret. Out: its value, decrypted, or an ``AwsError`` that names what to mend.
"""

import asyncio
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import msgspec

from deltawire.aws.http import Answer, ask_in_time, host_of
from deltawire.aws.identity import AwsError, credentials, region
from deltawire.aws.sigv4 import Credentials, Scope, signed
from deltawire.providers.foreign_errors import quote
from deltawire.providers.http1.errors import Http1Error

Kind = Literal["ssm", "secretsmanager"]

_SECONDS = 3.0
"""For one try, from the dial to the end of the answer."""
_PAUSES = (0.2, 0.6)
"""Seconds before the second and the third try: many containers that start at once are soon too many for SSM."""
_LATER = ("ThrottlingException", "TooManyRequestsException", "InternalServerError", "InternalServiceError")
_NOT_THERE = ("ParameterNotFound", "ParameterVersionNotFound", "ResourceNotFoundException")
_WRONG_US = (
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "InvalidClientTokenId",
    "IncompleteSignature",
    "MissingAuthenticationToken",
    "InvalidAccessKeyId",
)


_REGION = re.compile("[a-z0-9-]+")


class _Parameter(msgspec.Struct, rename="pascal"):
    value: str


class _Found(msgspec.Struct, rename="pascal"):
    """``GetParameter`` answers with the one, ``GetSecretValue`` with the other."""

    parameter: _Parameter | None = None
    secret_string: str | None = None


class _Refusal(msgspec.Struct):
    kind: str = msgspec.field(name="__type", default="")
    message: str = ""
    capital: str = msgspec.field(name="Message", default="")


@dataclass(frozen=True, slots=True)
class _Store:
    """How one store is asked, and what it calls things."""

    service: str
    target: str
    endpoint: str
    """The variable of its own that says where it is."""
    noun: str
    action: str

    def request(self, name: str) -> dict[str, object]:
        return {"Name": name, "WithDecryption": True} if self.service == "ssm" else {"SecretId": name}


_STORES: dict[str, _Store] = {
    "ssm": _Store("ssm", "AmazonSSM.GetParameter", "AWS_ENDPOINT_URL_SSM", "SSM parameter", "ssm:GetParameter"),
    "secretsmanager": _Store(
        "secretsmanager",
        "secretsmanager.GetSecretValue",
        "AWS_ENDPOINT_URL_SECRETS_MANAGER",
        "Secrets Manager secret",
        "secretsmanager:GetSecretValue",
    ),
}


def named(kind: Kind, name: str) -> str:
    """For messages: ``the SSM parameter /prod/key``."""
    return f"the {_STORES[kind].noun} {name}"


async def fetch(kind: Kind, name: str, environment: Mapping[str, str], seconds: float = _SECONDS) -> str:
    """Raises ``AwsError``. A try may take so many ``seconds``. ``name`` may be an ARN, which brings its region along;
    one of Secrets Manager may end in ``#KEY``, for the value of that key in a secret that is a JSON object."""
    store = _STORES[kind]
    name, _, key = name.partition("#") if kind == "secretsmanager" else (name, "", "")
    if not name:
        raise AwsError("which has no name")
    if not name.isprintable():
        raise AwsError("whose name holds characters that none has")
    scope = Scope(_region_in(name) or region(environment), store.service)
    if not _REGION.fullmatch(scope.region):  # it becomes a part of a host's name
        raise AwsError(f"and {scope.region!r} is no AWS region: look into its ARN, or AWS_REGION")
    us = await credentials(environment)
    answer = await _asked(store, name, scope, us, _url(store, scope, environment), seconds)
    if answer.status != 200:
        raise _refused(store, answer, scope, us)
    try:
        found = msgspec.json.decode(answer.body, type=_Found)
    except (msgspec.DecodeError, RecursionError):
        raise AwsError(f"and what {store.service} answers for it is not understood") from None
    value = found.parameter.value if found.parameter is not None else found.secret_string
    if value is None:
        raise AwsError("which holds bytes and no text")
    return _at(key, value) if key else value


async def _asked(store: _Store, name: str, scope: Scope, us: Credentials, url: str, seconds: float) -> Answer:
    """The last answer, after other tries where those were told to come later, or nobody answered."""
    body = msgspec.json.encode(store.request(name))
    for pause in (*_PAUSES, None):
        try:
            headers = {
                "host": host_of(url),
                "content-type": "application/x-amz-json-1.1",
                "x-amz-target": store.target,
            }
            # Signed for each try: the signature tells the time.
            answer = await ask_in_time(seconds, "POST", url, signed(headers, body, us, scope, datetime.now(UTC)), body)
            if pause is None or not (answer.status >= 500 or _code(answer) in _LATER):
                return answer
        except Http1Error as error:
            if pause is None:
                raise AwsError(f"and {host_of(url)}, which has it, cannot be asked: {error}") from None
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))
    raise AssertionError("the last try returns or raises")


def _url(store: _Store, scope: Scope, environment: Mapping[str, str]) -> str:
    for variable in (store.endpoint, "AWS_ENDPOINT_URL"):
        if url := environment.get(variable, "").rstrip("/"):
            try:
                host_of(url)
            except Http1Error:
                raise AwsError(f"and {variable} is no http(s) URL") from None
            return url
    domain = "amazonaws.com.cn" if scope.region.startswith("cn-") else "amazonaws.com"
    return f"https://{store.service}.{scope.region}.{domain}"


def _refused(store: _Store, answer: Answer, scope: Scope, us: Credentials) -> AwsError:
    code = _code(answer)
    if code in _NOT_THERE:
        return AwsError(f"which does not exist in {scope.region}: check its name, and AWS_REGION")
    if code in _WRONG_US:  # its words are left out: they may quote what we sent
        return AwsError(
            f"and AWS does not accept our credentials ({code}): check AWS_ACCESS_KEY_ID and what is beside it"
        )
    if code in ("ExpiredTokenException", "ExpiredToken"):
        return AwsError("and our AWS credentials have expired: renew them")
    words = quote(_words(answer), [secret for secret in (us.session_token, us.secret_access_key) if secret])
    said = f": {words}" if words else ""
    if code.startswith("AccessDenied"):
        return AwsError(
            f"which our AWS role may not read: allow {store.action} on it, and kms:Decrypt on its key if that is "
            f"one of yours{said}"
        )
    return AwsError(f"and AWS refuses it with {quote(code, ()) or answer.status}{said}")


def _code(answer: Answer) -> str:
    return _refusal(answer).kind.rpartition("#")[2]


def _words(answer: Answer) -> str:
    refusal = _refusal(answer)
    return refusal.message or refusal.capital


def _refusal(answer: Answer) -> _Refusal:
    try:
        return msgspec.json.decode(answer.body, type=_Refusal)
    except (msgspec.DecodeError, RecursionError):
        return _Refusal()


def _region_in(name: str) -> str | None:
    """Of an ARN: ``arn:aws:ssm:eu-west-1:123456789012:parameter/key``."""
    parts = name.split(":")
    return parts[3] if parts[0] == "arn" and len(parts) > 5 else None


def _at(key: str, value: str) -> str:
    try:
        values = msgspec.json.decode(value, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        raise AwsError(f"which is no JSON object, so that it has no key {key}") from None
    found = values.get(key)
    if not isinstance(found, str):
        raise AwsError(f"which has no text at the key {key}")
    return found
