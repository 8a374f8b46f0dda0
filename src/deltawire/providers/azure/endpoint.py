"""Which URL an Azure resource is asked under, from whatever form of it somebody pasted.

In: the ``endpoint`` and ``api_version`` of an entry. Out: the API that they mean and its base URL. What has no one
meaning is refused before the first call, naming the value.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit

from deltawire.domain.errors import DeclarationError
from deltawire.providers.shown_url import shown_url

_DATED = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?", re.ASCII)
_AZURE_HOST = re.compile(r"\.azure\.(com|us|cn)$")
_HOST = re.compile(r"[\w.:%-]+")
_PROJECT = re.compile(r"(/api/projects/[^/]+)?")
_MODEL_DATES = {
    "2024-04-09": "gpt-4-turbo",
    "2024-05-13": "gpt-4o",
    "2024-07-18": "gpt-4o-mini",
    "2024-08-06": "gpt-4o",
    "2024-11-20": "gpt-4o",
    "2024-12-17": "o1",
    "2025-01-31": "o3-mini",
    "2025-04-14": "gpt-4.1",
    "2025-04-16": "o3",
    "2025-08-07": "gpt-5",
}
"""What stands beside a model's name in the portal, and is mistaken for the API's version."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``version`` is a date for the classic API, ``None`` or ``preview`` for the v1 API."""

    base_url: str
    version: str | None
    deployment: str | None
    """The one that the pasted URL named. Which one is asked is said by the model."""

    @property
    def is_v1(self) -> bool:
        return self.version is None or self.version == "preview"

    def path(self, deployment: str) -> str:
        """Below ``base_url``. The classic API has the deployment in the URL, v1 in the body."""
        query = f"?api-version={self.version}" if self.version else ""
        if self.is_v1:
            return f"/v1/chat/completions{query}"
        return f"/deployments/{quote(deployment, safe='')}/chat/completions{query}"

    def knows(self, since: str) -> bool:
        """Whether this version has what came with the version of that date."""
        return self.version is None or self.version == "preview" or self.version[:10] >= since


def endpoint(provider: str, written: str | None, api_version: str | None) -> Endpoint:
    """Raises ``DeclarationError``."""
    if not written or not written.strip():
        raise DeclarationError(
            f"the provider '{provider}' has no endpoint: set AZURE_OPENAI_ENDPOINT, or write "
            f'endpoint = "https://NAME.openai.azure.com" under [providers.{provider}]'
        )
    here = f"the endpoint of provider '{provider}' is '{shown_url(written)}'"
    try:
        url = urlsplit(written.strip())
        host, _ = url.hostname, url.port
    except ValueError:
        raise DeclarationError(f"{here}, which is no URL") from None
    if host and not _HOST.fullmatch(host):  # a backslash, or two URLs
        raise DeclarationError(f"{here}, which is no URL")
    if url.scheme not in ("http", "https") or not host:
        raise DeclarationError(f"{here}: begin it with https://")
    if "@" in url.netloc + url.path or url.fragment:
        raise DeclarationError(f"{here}: leave out what stands before an @ or after a #")
    prefix, deployment, path_is_v1 = _read(url.path, here)
    if _AZURE_HOST.search(host) and not _PROJECT.fullmatch(prefix):
        raise DeclarationError(f"{here}: '{prefix}' is no path of Azure OpenAI; write https://{url.netloc}")
    version = _version(provider, api_version, _queried(url.query, here), here)
    if path_is_v1 and version not in (None, "preview"):
        raise DeclarationError(
            f"{here}, the v1 API, which takes no api_version like '{version}': leave out the one or the other"
        )
    if deployment is not None and version is None and api_version is None:
        raise DeclarationError(
            f"{here}: a URL with /deployments/ needs an api_version such as 2024-10-21; "
            f"for the v1 API write {url.scheme}://{url.netloc}"
        )
    return Endpoint(f"{url.scheme}://{url.netloc}{prefix}/openai", version, deployment)


def _read(path: str, here: str) -> tuple[str, str | None, bool]:
    """What stands before ``/openai``, the deployment that the path names, and whether it is the v1 API's."""
    steps = [step for step in path.split("/") if step]
    if "openai" not in steps:
        if steps and (steps[0] in ("v1", "models", "deployments") or steps[-2:] == ["chat", "completions"]):
            raise DeclarationError(f"{here}: '{path}' is no path of Azure OpenAI; leave it out, or write /openai/v1")
        return "".join(f"/{step}" for step in steps), None, False
    last = len(steps) - 1 - steps[::-1].index("openai")
    prefix = "".join(f"/{step}" for step in steps[:last])
    match steps[last + 1 :]:
        case [] | ["deployments"]:
            return prefix, None, False
        case ["v1"] | ["v1", "chat", "completions"] | ["v1", "responses"]:
            return prefix, None, True
        case ["deployments", deployment] | ["deployments", deployment, "chat", "completions"]:
            return prefix, deployment, False
        case rest:
            raise DeclarationError(f"{here}: nothing is known at '/openai/{'/'.join(rest)}'; end it with /openai/v1")


def _queried(query: str, here: str) -> str | None:
    """The version that was pasted with the URL."""
    said = dict(parse_qsl(query, keep_blank_values=True))
    if others := said.keys() - {"api-version"}:
        # Without a value it may be one itself, and a secret.
        what = f"'{min(others)}', it" if said[min(others)] else "what stands after the ?, it"
        raise DeclarationError(f"{here}: leave out {what} is no parameter of Azure OpenAI")
    return said.get("api-version") or None


def _version(provider: str, said: str | None, pasted: str | None, here: str) -> str | None:
    if said and pasted and said != pasted:
        raise DeclarationError(f"{here}, and its api_version is '{said}': leave out the one or the other")
    version = said or pasted
    if version is None or version in ("v1", "latest"):
        return None
    what = f"the api_version of provider '{provider}' is '{version}'"
    if model := _MODEL_DATES.get(version):
        raise DeclarationError(
            f"{what}, a version of the model {model}, not of the API: write 2024-10-21 or leave it out"
        )
    if version != "preview" and not _DATED.fullmatch(version):
        raise DeclarationError(f"{what}: write a date such as 2024-10-21, or leave it out for the v1 API")
    return version
