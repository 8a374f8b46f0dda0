"""One correct URL from whatever form of an Azure endpoint was pasted, or an error that names the value."""

import pytest

from deltawire.domain.errors import DeclarationError
from deltawire.providers.azure.endpoint import endpoint

CLASSIC = "/openai/deployments/d1/chat/completions?api-version=2024-10-21"
V1 = "/openai/v1/chat/completions"


def url(written: str | None, api_version: str | None = None) -> str:
    place = endpoint("azure", written, api_version)
    return place.base_url + place.path("d1")


@pytest.mark.parametrize(
    "written",
    [
        "https://r.test",
        "https://r.test/",
        " https://r.test// ",
        "https://r.test/openai",
        "https://r.test/openai/",
        "https://r.test/openai/deployments",
        "https://r.test/openai/deployments/d1",
        "https://r.test/openai/deployments/d1/",
        "https://r.test/openai/deployments/d1/chat/completions",
        "https://r.test/openai/deployments/d1/chat/completions?api-version=2024-10-21",
        "https://r.test?api-version=2024-10-21",
    ],
)
def test_az_06_every_form_with_an_api_version_is_one_classic_url(written: str) -> None:
    assert url(written, "2024-10-21") == f"https://r.test{CLASSIC}"


@pytest.mark.parametrize(
    "written",
    [
        "https://r.test",
        "https://r.test/",
        "https://r.test/openai",
        "https://r.test/openai/v1",
        "https://r.test/openai/v1/",
        "https://r.test/openai/v1/chat/completions",
    ],
)
def test_az_06_every_form_without_an_api_version_is_one_v1_url(written: str) -> None:
    assert url(written) == url(written, "v1") == url(written, "latest") == f"https://r.test{V1}"
    assert url(written, "preview") == f"https://r.test{V1}?api-version=preview"


@pytest.mark.parametrize(
    ("written", "base"),
    [
        ("https://r.openai.azure.com/", "https://r.openai.azure.com"),
        ("https://r.cognitiveservices.azure.com/", "https://r.cognitiveservices.azure.com"),
        ("https://r.services.ai.azure.com", "https://r.services.ai.azure.com"),
        ("https://westeurope.api.cognitive.microsoft.com/", "https://westeurope.api.cognitive.microsoft.com"),
        ("https://r.openai.azure.us/openai/v1", "https://r.openai.azure.us"),
        ("https://r.services.ai.azure.com/api/projects/p", "https://r.services.ai.azure.com/api/projects/p"),
        ("https://gateway.test:8443/llm/openai/v1/", "https://gateway.test:8443/llm"),
        ("https://gateway.test/llm", "https://gateway.test/llm"),
        ("http://127.0.0.1:9/openai", "http://127.0.0.1:9"),
    ],
)
def test_every_host_keeps_its_name_and_a_gateway_its_path(written: str, base: str) -> None:
    assert url(written) == f"{base}{V1}"


def test_a_version_that_was_pasted_with_the_url_counts() -> None:
    written = "https://r.openai.azure.com/openai/deployments/d9/chat/completions?api-version=2024-10-21"
    assert url(written) == f"https://r.openai.azure.com{CLASSIC}"  # which deployment is asked is said by the model
    assert endpoint("azure", written, None).deployment == "d9"


def test_a_deployments_name_is_quoted() -> None:
    place = endpoint("azure", "https://r.test", "2024-10-21")
    assert place.path("a/b ü") == "/deployments/a%2Fb%20%C3%BC/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("written", "api_version", "complaint"),
    [
        (None, None, "has no endpoint: set AZURE_OPENAI_ENDPOINT"),
        (" ", None, "has no endpoint: set AZURE_OPENAI_ENDPOINT"),
        ("r.openai.azure.com", None, "is 'r.openai.azure.com': begin it with https://"),
        ('"https://r.test"', None, "begin it with https://"),
        ("https://", None, "begin it with https://"),
        ("https://r.test:port", None, "is 'https://r.test:port', which is no URL"),
        ("https://[::1", None, "which is no URL"),
        ("https://r.test\\openai\\v1", None, "which is no URL"),
        ("https://r.test,https://s.test", None, "which is no URL"),
        ("https://me:secret@r.test", None, "is 'https://…@r.test': leave out what stands before an @"),
        ("https://r.test/#x", None, "or after a #"),
        ("https://r.test/openai/v2", None, "nothing is known at '/openai/v2'; end it with /openai/v1"),
        ("https://r.test/openai/deployments/d1/embeddings", "2024-10-21", "nothing is known at"),
        ("https://r.test/openai?x=1", None, "leave out 'x'"),
        ("https://r.test/openai?secret", None, "is 'https://r.test/openai?…': leave out what stands after the ?"),
        ("https://me:/secret@r.test", None, "is 'https://…@r.test': leave out what stands before an @"),
        ("https://r.test/v1", None, "'/v1' is no path of Azure OpenAI"),
        ("https://r.services.ai.azure.com/models", None, "'/models' is no path of Azure OpenAI"),
        ("https://r.openai.azure.com/deployments/d1", "2024-10-21", "'/deployments/d1' is no path"),
        ("https://r.openai.azure.com/openai/openai/v1", None, "'/openai' is no path of Azure OpenAI; write https://r"),
        ("https://r.openai.azure.com/x", None, "'/x' is no path of Azure OpenAI; write https://r.openai.azure.com"),
        ("https://r.test/openai/deployments/d1", None, "a URL with /deployments/ needs an api_version"),
        ("https://r.test/openai/v1", "2024-10-21", "the v1 API, which takes no api_version like '2024-10-21'"),
        ("https://r.test/openai?api-version=2024-06-01", "2024-10-21", "and its api_version is '2024-10-21': leave"),
        ("https://r.test", "2024-07-18", "is '2024-07-18', a version of the model gpt-4o-mini, not of the API"),
        ("https://r.test", "gpt-4o", "api_version of provider 'azure' is 'gpt-4o': write a date such as 2024-10-21"),
        ("https://r.test", "2024-10-21 preview", "write a date such as 2024-10-21"),
    ],
)
def test_az_06_what_has_no_one_meaning_names_the_value(
    written: str | None, api_version: str | None, complaint: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        endpoint("azure", written, api_version)
    assert complaint in str(refused.value)
    assert "secret" not in str(refused.value)
