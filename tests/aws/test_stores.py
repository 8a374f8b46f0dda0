"""One secret from a store that says what a test scripts: what is sent, and what each refusal is told as."""

import pytest

from deltawire.aws.identity import AwsError
from deltawire.aws.stores import fetch
from tests.upstream import Upstream, refused_port
from tests.upstream.script import Step, reply, silence

pytestmark = pytest.mark.anyio

US = {
    "AWS_ACCESS_KEY_ID": "AKIA",
    "AWS_SECRET_ACCESS_KEY": "the-secret-key",
    "AWS_SESSION_TOKEN": "the-session-token",
    "AWS_REGION": "eu-west-1",
}
FOUND = reply(200, b'{"Parameter":{"Name":"/key","Type":"SecureString","Value":"sk-1","Version":1}}')
DEEP = b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"


def refusal(code: str, message: str = "", status: int = 400) -> Step:
    return reply(status, f'{{"__type":"com.amazonaws.ssm#{code}","message":"{message}"}}'.encode())


def at(upstream: Upstream) -> dict[str, str]:
    return {**US, "AWS_ENDPOINT_URL": upstream.base_url.removesuffix("/v1")}


async def refused(environment: dict[str, str], written: str = "/key") -> str:
    with pytest.raises(AwsError) as error:
        await fetch("ssm", written, environment)
    return str(error.value)


async def test_a_parameter_is_asked_for_decrypted_by_us_in_our_region() -> None:
    async with Upstream() as upstream:
        upstream.script(FOUND)
        assert await fetch("ssm", "/key", at(upstream)) == "sk-1"
        [request] = upstream.requests
    assert (request.method, request.path, request.json) == ("POST", "/", {"Name": "/key", "WithDecryption": True})
    assert request.headers["x-amz-target"] == "AmazonSSM.GetParameter"
    assert request.headers["content-type"] == "application/x-amz-json-1.1"
    assert request.headers["x-amz-security-token"] == "the-session-token"
    assert "/eu-west-1/ssm/aws4_request, SignedHeaders=content-type;host;" in request.headers["authorization"]


async def test_an_arn_brings_its_region_along() -> None:
    async with Upstream() as upstream:
        upstream.script(FOUND)
        await fetch("ssm", "arn:aws:ssm:us-east-2:123456789012:parameter/key", {**at(upstream), "AWS_REGION": ""})
        [request] = upstream.requests
    assert "/us-east-2/ssm/" in request.headers["authorization"]
    assert request.json["Name"] == "arn:aws:ssm:us-east-2:123456789012:parameter/key"


@pytest.mark.parametrize(("written", "value"), [("prod/key", '{"key": "sk-2"}'), ("prod/key#key", "sk-2")])
async def test_a_secret_of_secrets_manager_is_its_text_or_the_value_of_one_key(written: str, value: str) -> None:
    async with Upstream() as upstream:
        upstream.script(reply(200, rb'{"ARN":"arn","Name":"prod/key","SecretString":"{\"key\": \"sk-2\"}"}'))
        assert await fetch("secretsmanager", written, at(upstream)) == value
        [request] = upstream.requests
    assert (request.headers["x-amz-target"], request.json) == (
        "secretsmanager.GetSecretValue",
        {"SecretId": "prod/key"},
    )


@pytest.mark.parametrize(
    ("written", "body", "told"),
    [
        ("k#other", rb'{"SecretString":"{\"key\": \"sk-2\"}"}', "which has no text at the key other"),
        ("k#key", b'{"SecretString":"sk-3"}', "which is no JSON object, so that it has no key key"),
        ("k", b'{"SecretBinary":"c2stMw=="}', "which holds bytes and no text"),
        ("k", b"<html>", "and what secretsmanager answers for it is not understood"),
        ("k", DEEP, "and what secretsmanager answers for it is not understood"),
    ],
    ids=["no key", "no object", "bytes", "page", "deep"],
)
async def test_a_secret_without_such_a_text_is_an_error_that_does_not_tell_it(
    written: str, body: bytes, told: str
) -> None:
    async with Upstream() as upstream:
        upstream.script(reply(200, body))
        with pytest.raises(AwsError) as error:
            await fetch("secretsmanager", written, at(upstream))
    assert str(error.value) == told


@pytest.mark.parametrize(
    ("code", "message", "told"),
    [
        (
            "ParameterNotFound",
            "",
            "which does not exist in eu-west-1: check its name, and AWS_REGION",
        ),
        (
            "AccessDeniedException",
            "User: arn:aws:sts::1:assumed-role/f is not authorized to perform: ssm:GetParameter",
            "which our AWS role may not read: allow ssm:GetParameter on it, and kms:Decrypt on its key if that is one "
            "of yours: User: arn:aws:sts::1:assumed-role/f is not authorized to perform: ssm:GetParameter",
        ),
        (
            "InvalidSignatureException",
            "x-amz-security-token:the-session-token",
            "and AWS does not accept our credentials (InvalidSignatureException): check AWS_ACCESS_KEY_ID and what is "
            "beside it",
        ),
        ("ExpiredTokenException", "", "and our AWS credentials have expired: renew them"),
        ("InvalidKeyId", "no key the-session-token", "and AWS refuses it with InvalidKeyId: no key …"),
    ],
)
async def test_a_refusal_says_what_to_mend(code: str, message: str, told: str) -> None:
    async with Upstream() as upstream:
        upstream.script(refusal(code, message))
        assert await refused(at(upstream)) == told
        assert len(upstream.requests) == 1


async def test_a_refusal_deeper_than_anybody_reads_is_one() -> None:
    async with Upstream() as upstream:
        upstream.script(reply(400, DEEP))
        assert await refused(at(upstream)) == "and AWS refuses it with 400"


@pytest.mark.parametrize(
    "first", [refusal("ThrottlingException"), refusal("InternalServerError", status=500), reply(503, b"")]
)
async def test_a_store_that_is_too_busy_is_asked_again(first: Step) -> None:
    async with Upstream() as upstream:
        upstream.script(first)
        upstream.script(FOUND)
        assert await fetch("ssm", "/key", at(upstream)) == "sk-1"
        assert len(upstream.requests) == 2


async def test_a_store_is_asked_three_times_at_most() -> None:
    async with Upstream() as upstream:
        upstream.always(refusal("ThrottlingException", "Rate exceeded"))
        assert await refused(at(upstream)) == "and AWS refuses it with ThrottlingException: Rate exceeded"
        assert len(upstream.requests) == 3


async def test_a_store_that_nobody_reaches_is_named() -> None:
    with refused_port() as port:
        told = await refused({**US, "AWS_ENDPOINT_URL_SSM": f"http://127.0.0.1:{port}"})
    assert told == f"and 127.0.0.1:{port}, which has it, cannot be asked: connection refused"


async def test_a_store_that_says_nothing_is_left() -> None:
    async with Upstream() as upstream:
        upstream.always(silence())
        with pytest.raises(AwsError, match=r"cannot be asked: no answer within 0\.05 s$"):
            await fetch("ssm", "/key", at(upstream), seconds=0.05)


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({**US, "AWS_REGION": ""}, "and no AWS region is set: set AWS_REGION"),
        ({**US, "AWS_REGION": "example.com/"}, "and 'example.com/' is no AWS region: look into its ARN, or AWS_REGION"),
        ({**US, "AWS_ENDPOINT_URL": "ssm.local"}, "and AWS_ENDPOINT_URL is no http(s) URL"),
    ],
)
async def test_what_is_missing_or_wrong_is_said_before_anybody_is_asked(environment: dict[str, str], told: str) -> None:
    assert await refused(environment) == told


@pytest.mark.parametrize("name", ["/key\n", "/key\ud800"])
async def test_a_name_that_none_has_is_not_asked_for(name: str) -> None:
    with pytest.raises(AwsError, match="whose name holds characters that none has"):
        await fetch("ssm", name, US)


async def test_what_an_arn_names_becomes_no_other_host() -> None:
    with pytest.raises(AwsError, match="'a b' is no AWS region"):
        await fetch("ssm", "arn:aws:ssm:a b:123456789012:parameter/key", US)
