"""Who we are for AWS, by variables, files and the endpoint beside a container."""

from pathlib import Path

import pytest

from deltawire.aws.identity import AwsError, credentials, region
from deltawire.aws.sigv4 import Credentials
from tests.upstream import Upstream
from tests.upstream.script import reply

pytestmark = pytest.mark.anyio

KEYS = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "secret"}
HANDED = b'{"AccessKeyId":"ASIA","SecretAccessKey":"s","Token":"t","Expiration":"2030-01-01T00:00:00Z","RoleArn":"r"}'


def home(folder: Path) -> dict[str, str]:
    (folder / ".aws").mkdir()
    (folder / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = AKIA1\naws_secret_access_key = one%two\n"
        "[other]\naws_access_key_id=AKIA2\naws_secret_access_key=two\naws_session_token=token\n"
    )
    (folder / ".aws" / "config").write_text(
        "[default]\nregion = eu-west-1\n[profile other]\nregion = us-east-2\n[profile sso]\nsso_session = house\n"
    )
    return {"HOME": str(folder)}


async def told(environment: dict[str, str]) -> str:
    with pytest.raises(AwsError) as error:
        await credentials(environment)
    return str(error.value)


async def test_variables_go_first(tmp_path: Path) -> None:
    environment = {**home(tmp_path), **KEYS, "AWS_REGION": "sa-east-1", "AWS_SESSION_TOKEN": "token"}
    assert await credentials(environment) == Credentials("AKIA", "secret", "token")
    assert region(environment) == "sa-east-1"


@pytest.mark.parametrize(
    ("profile", "who", "where"),
    [
        ({}, Credentials("AKIA1", "one%two"), "eu-west-1"),
        ({"AWS_PROFILE": "other"}, Credentials("AKIA2", "two", "token"), "us-east-2"),
    ],
)
async def test_a_profiles_keys_and_region_are_in_awss_files(
    tmp_path: Path, profile: dict[str, str], who: Credentials, where: str
) -> None:
    environment = {**home(tmp_path), **profile}
    assert (await credentials(environment), region(environment)) == (who, where)


async def test_a_profile_of_another_kind_says_how_to_get_keys_of_it(tmp_path: Path) -> None:
    assert await told({**home(tmp_path), "AWS_PROFILE": "sso"}) == (
        "and the AWS profile 'sso' holds no keys; for one of another kind: "
        'eval "$(aws configure export-credentials --profile sso --format env)"'
    )


async def test_a_container_asks_the_endpoint_beside_it_with_its_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("the-token\n")
    async with Upstream() as upstream:
        upstream.script(reply(200, HANDED))
        environment = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{upstream.base_url}/credentials?role=f",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(tmp_path / "token"),
        }
        assert await credentials(environment) == Credentials("ASIA", "s", "t")
        [request] = upstream.requests
    assert (request.method, request.path) == ("GET", "/v1/credentials?role=f")
    assert request.headers["authorization"] == "the-token"


async def test_an_endpoint_that_hands_out_nothing_says_so() -> None:
    here = "and the endpoint of AWS_CONTAINER_CREDENTIALS_*, which should give the AWS credentials,"
    async with Upstream() as upstream:
        environment = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": upstream.base_url}
        upstream.script(reply(403, b""))
        assert await told(environment) == f"{here} answered 403"
        upstream.script(reply(200, b'{"AccessKeyId":"ASIA"}'))
        assert await told(environment) == f"{here} answered with none"
        upstream.script(reply(200, b'{"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"))
        assert await told(environment) == f"{here} answered with none"


@pytest.mark.parametrize("url", ["http://example.com/role", "ftp://127.0.0.1/role", "http://[/"])
async def test_a_containers_token_goes_to_no_strange_host(url: str) -> None:
    environment = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "the-token"}
    assert (await told(environment)).endswith("is neither https:// nor on this host")


async def test_nobody_is_told_the_ways_to_be_somebody(tmp_path: Path) -> None:
    assert await told({"HOME": str(tmp_path)}) == (
        "and there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "or run where a role gives them (Lambda, ECS, EKS Pod Identity)"
    )
    assert await told({"AWS_ACCESS_KEY_ID": "AKIA"}) == (
        "and only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both"
    )
