"""What is sent for a URL of the settings: whom it is sent to, and its head byte for byte."""

from collections.abc import Mapping

import pytest

from deltawire.domain.errors import Reason
from deltawire.providers.http1.errors import HeaderError, UnreachableError
from deltawire.providers.http1.origin import Origin, origin_of
from deltawire.providers.http1.request import RequestHead
from deltawire.providers.openai.provider import OpenAI
from deltawire.providers.openai.settings import OpenAISettings
from tests.providers.asking import ask, key, provider_at
from tests.upstream import Upstream

pytestmark = pytest.mark.anyio


def head(
    url: str = "http://here/v1", path: str = "/x", fixed: Mapping[str, str] = {}, own: Mapping[str, str] = {}
) -> bytes:
    return RequestHead(origin_of(url), fixed).encode(path, own, 5)


def test_a_head_is_written_byte_for_byte() -> None:
    assert head("https://Api.Example:8443/v1", "/chat?a=b", {"X-Title": "é"}, own={"authorization": "Bearer k"}) == (
        b"POST /v1/chat?a=b HTTP/1.1\r\n"
        b"host: api.example:8443\r\n"
        b"accept: */*\r\n"
        b"user-agent: deltawire\r\n"
        b"X-Title: \xc3\xa9\r\n"
        b"authorization: Bearer k\r\n"
        b"content-length: 5\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "named"),
    [
        ("http://a", "a", 80, False, "a"),
        ("http://a:80/", "a", 80, False, "a"),
        ("https://a:443", "a", 443, True, "a"),
        ("https://a:80", "a", 80, True, "a:80"),
        ("http://a:443/v1", "a", 443, False, "a:443"),
        ("HTTP://A.B./v1", "a.b.", 80, False, "a.b."),
        ("http://[::1]/v1", "::1", 80, False, "[::1]"),
        ("http://[2001:DB8::1]:8080", "2001:db8::1", 8080, False, "[2001:db8::1]:8080"),
        ("http://[fe80::1%25eth0]:81", "fe80::1%eth0", 81, False, "[fe80::1]:81"),
        ("http://my_host:81", "my_host", 81, False, "my_host:81"),
        ("http://bücher.example", "xn--bcher-kva.example", 80, False, "xn--bcher-kva.example"),
        ("http://例え.テスト", "xn--r8jz45g.xn--zckzah", 80, False, "xn--r8jz45g.xn--zckzah"),
        ("http://user:pa%40ss@a:81/", "a", 81, False, "a:81"),
    ],
)
def test_a_url_tells_whom_to_ask(url: str, host: str, port: int, tls: bool, named: str) -> None:
    origin = origin_of(url)
    assert (origin.host, origin.port, origin.tls, origin.named) == (host, port, tls, named)


@pytest.mark.parametrize(
    "url",
    [
        *("", "a.example/v1", "//a/v1", "ftp://a/v1", "unix:///run/s", "http://", "http:///v1", "http://:80"),
        *("http://a:port", "http://a:99999", "http://a b/v1", "https://.a/v1", "http://a\\b/v1", "http://a<b>/v1"),
    ],
)
async def test_what_is_no_url_of_the_web_is_unreachable_and_says_so(url: str) -> None:
    async with provider_at(url) as provider:
        failure = (await ask(provider)).failure
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_unreachable, True)
    assert failure.message == "the provider 'up' cannot be reached: its base_url is no http(s) URL"


@pytest.mark.parametrize("url", ["http://[::1", "http://[zz]", "http://a]/"])
def test_brackets_hold_an_address(url: str) -> None:
    with pytest.raises(UnreachableError, match=r"its base_url is no http\(s\) URL"):
        origin_of(url)


@pytest.mark.parametrize("host", ["straße.example", "βόλος.example", "a\u200db.example", "ü" * 64 + ".example"])
def test_a_host_that_two_standards_read_as_two_is_not_asked(host: str) -> None:
    with pytest.raises(UnreachableError, match="its host name is"):
        origin_of(f"https://{host}/v1")


@pytest.mark.parametrize(
    ("url", "path", "target"),
    [
        ("http://a", "/chat", "/chat"),
        ("http://a/v1", "/chat?api-version=2024-10-21", "/v1/chat?api-version=2024-10-21"),
        ("http://a/v1/gate%2Fway", "/chat", "/v1/gate%2Fway/chat"),
        ("http://a/é b", "/c", "/%C3%A9%20b/c"),
        ("http://a/v1#there", "/c", "/v1/c"),
        ("http://a?key=1", "/c", "/?key=1/c"),
        ("http://a/v1", "/a\r\nx: y", "/v1/a%0D%0Ax:%20y"),
        ("http://a/~v1;a=b,c", "/@d:e'(f)*!$&+", "/~v1;a=b,c/@d:e'(f)*!$&+"),
    ],
)
def test_path_and_query_of_the_url_stand_before_those_of_the_request(url: str, path: str, target: str) -> None:
    assert head(url, path).split(b" ")[1] == target.encode()


def test_a_user_in_the_url_is_sent_as_basic_unless_a_header_says_who_asks() -> None:
    url = "http://Aladdin:open%20sesame@a/"
    assert b"authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n" in head(url)
    assert b"Basic" not in head(url, own={"authorization": "Bearer k"})
    assert b"authorization: Basic bWU6\r\n" in head("http://me@a")


def test_a_header_of_the_request_goes_before_a_fixed_one_of_any_case() -> None:
    sent = head(fixed={"X-Key": "old", "Accept": "text/event-stream"}, own={"x-key": "new"})
    assert (sent.count(b"accept"), sent.lower().count(b"x-key")) == (0, 1)
    assert b"x-key: new\r\n" in sent
    assert b"Accept: text/event-stream\r\n" in sent


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\0b", "a\r\nx: y", "\ud800"])
def test_a_value_that_breaks_the_head_is_refused_without_telling_it(value: str) -> None:
    with pytest.raises(HeaderError, match="'x-key'") as failed:
        head(own={"x-key": f"secret{value}"})
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("name", ["", "a b", "a:", "é", "a\r\n"])
def test_a_name_that_is_no_token_is_refused(name: str) -> None:
    with pytest.raises(HeaderError, match="is no name for a header"):
        head(fixed={name: "x"})


async def test_a_key_with_a_line_break_is_told_by_its_header_and_nothing_is_sent() -> None:
    async with Upstream() as upstream:
        provider = OpenAI("up", OpenAISettings(base_url=upstream.base_url), key("hidden\n"))
        failure = (await ask(provider)).failure
        await provider.close()
        assert upstream.accepted == 0
    assert (failure.reason, failure.retry_safe) == (Reason.upstream_auth, False)
    assert failure.message == (
        "the provider 'up' cannot be asked: the header 'authorization' holds a line break or a NUL; "
        "check its headers and its api_key"
    )


def test_no_repr_tells_a_password() -> None:
    origin: Origin = origin_of("https://me:hidden@a/v1")
    assert "hidden" not in repr(origin)
    assert "bWU6aGlkZGVu" not in repr(origin)
