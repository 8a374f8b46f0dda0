"""Our signatures against those that AWS publishes, and against botocore's, which AWS writes."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials

from deltawire.aws.sigv4 import Credentials, Scope, signed

NOW = datetime(2015, 8, 30, 12, 36, 0, tzinfo=UTC)
HOST = {"host": "example.amazonaws.com"}
US = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuw"
    "thAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNV"
    "XAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
FORM = {"content-type": "application/x-www-form-urlencoded"}
"""The names and values are those of AWS's suite of signed requests, aws-sig-v4-test-suite."""


@pytest.mark.parametrize(
    ("credentials", "headers", "body", "names", "signature"),
    [
        pytest.param(
            US, {}, b"", "host;x-amz-date",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", id="post-vanilla",
        ),
        pytest.param(
            US, {"my-header1": "value1"}, b"", "host;my-header1;x-amz-date",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c", id="post-header-key-sort",
        ),
        pytest.param(
            US, {"my-header1": "VALUE1"}, b"", "host;my-header1;x-amz-date",
            "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d", id="post-header-value-case",
        ),
        pytest.param(
            US, FORM, b"Param1=value1", "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a", id="post-x-www-form-urlencoded",
        ),
        pytest.param(
            Credentials(US.access_key_id, US.secret_access_key, TOKEN), {}, b"", "host;x-amz-date;x-amz-security-token",
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead", id="post-sts-header-before",
        ),
    ],
)  # fmt: skip
def test_a_signature_is_that_of_awss_own_suite(
    credentials: Credentials, headers: dict[str, str], body: bytes, names: str, signature: str
) -> None:
    sent = signed({**HOST, **headers}, body, credentials, Scope("us-east-1", "service"), NOW)
    assert sent["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    assert (sent["x-amz-date"], sent.get("x-amz-security-token")) == ("20150830T123600Z", credentials.session_token)


@pytest.mark.parametrize("token", [None, "a token/with+signs=="])
@pytest.mark.parametrize(
    ("value", "body"),
    [("AmazonSSM.GetParameter", b'{"Name":"/a b/\xc3\xbc"}'), ("  two   spaces  ", b""), ("plain", b"\x00\xff")],
)
def test_a_signature_is_that_of_botocore(value: str, body: bytes, token: str | None) -> None:
    scope = Scope("eu-west-1", "ssm")
    headers = {"host": "ssm.eu-west-1.amazonaws.com", "x-amz-target": value}
    us = Credentials("AKIA", "a secret/+=", token)
    sent = signed(headers, body, us, scope, datetime.now(UTC))
    theirs = cast("Any", AWSRequest)("POST", "https://ssm.eu-west-1.amazonaws.com/", headers=headers, data=body)
    theirs.context["timestamp"] = sent["x-amz-date"]
    theirs.headers["X-Amz-Date"] = sent["x-amz-date"]
    if token is not None:
        theirs.headers["X-Amz-Security-Token"] = token
    them = BotocoreCredentials(us.access_key_id, us.secret_access_key, token)
    signer = cast("Any", SigV4Auth)(them, scope.service, scope.region)
    signature = signer.signature(signer.string_to_sign(theirs, signer.canonical_request(theirs)), theirs)
    assert sent["authorization"].endswith(f"Signature={signature}")


def test_credentials_do_not_show_their_secrets() -> None:
    shown = repr(Credentials("AKIA", "the secret", "the token"))
    assert "AKIA" in shown
    assert "the secret" not in shown
    assert "the token" not in shown
