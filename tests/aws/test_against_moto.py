"""Both stores as moto plays them, in a process of its own that checks signatures and policies as AWS does."""

import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from typing import Any, cast
from urllib.request import Request, urlopen

import boto3
import pytest

from deltawire.aws.identity import AwsError
from deltawire.aws.stores import fetch

pytestmark = pytest.mark.anyio

REGION = "eu-west-1"
READER = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["ssm:GetParameter", "secretsmanager:GetSecretValue"], "Resource": "*"}
    ],
}


def user(url: str, name: str, policy: Mapping[str, object] | None) -> dict[str, str]:
    """The environment of one who may do what the policy says."""
    iam: Any = client(url, "iam")
    iam.create_user(UserName=name)
    if policy is not None:
        iam.put_user_policy(UserName=name, PolicyName="policy", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": url,
    }


def client(url: str, service: str) -> object:
    made: Any = cast("Any", boto3).client(
        service, region_name=REGION, endpoint_url=url, aws_access_key_id="root", aws_secret_access_key="root"
    )
    return made


@pytest.fixture(scope="module")
def aws() -> Generator[dict[str, dict[str, str]]]:
    """Environments of one who may read, and of one who may do nothing."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        cast("Any", client(url, "ssm")).put_parameter(Name="/prod/key", Value="sk-of-ssm", Type="SecureString")
        cast("Any", client(url, "secretsmanager")).create_secret(Name="prod/key", SecretString='{"key": "sk-of-sm"}')
        users = {"reader": user(url, "reader", READER), "stranger": user(url, "stranger", None)}
        with urlopen(
            Request(f"{url}/moto-api/reset-auth", b"0", {"content-type": "text/plain"})
        ):  # from here on it checks who asks
            pass  # from here on it checks who asks
        yield users
    finally:
        process.kill()
        process.communicate()


async def told(environment: dict[str, str], name: str = "/prod/key") -> str:
    with pytest.raises(AwsError) as error:
        await fetch("ssm", name, environment)
    return str(error.value)


async def test_a_parameter_comes_decrypted(aws: dict[str, dict[str, str]]) -> None:
    assert await fetch("ssm", "/prod/key", aws["reader"]) == "sk-of-ssm"
    assert await fetch("ssm", "/prod/key:1", aws["reader"]) == "sk-of-ssm"


async def test_a_secret_of_secrets_manager_comes_by_its_key(aws: dict[str, dict[str, str]]) -> None:
    assert await fetch("secretsmanager", "prod/key#key", aws["reader"]) == "sk-of-sm"


async def test_a_wrong_signature_and_a_missing_permission_are_refused(aws: dict[str, dict[str, str]]) -> None:
    # Moto says in XML why, AWS in JSON: what is made of that is in test_stores.py.
    assert await told({**aws["reader"], "AWS_SECRET_ACCESS_KEY": "another"}) == "and AWS refuses it with 403"
    assert await told(aws["stranger"]) == "and AWS refuses it with 403"


async def test_a_parameter_that_does_not_exist_is_told_as_that(aws: dict[str, dict[str, str]]) -> None:
    assert await told(aws["reader"], "/prod/kei") == f"which does not exist in {REGION}: check its name, and AWS_REGION"
