"""Pages of an allowed origin may call from a browser, and read what comes back."""

import httpx
import pytest

from deltawire.transports.http.app import build_app
from deltawire.transports.http.settings import HttpSettings
from tests.engine.stage import stage

pytestmark = pytest.mark.anyio

PAGE = "http://localhost:5173"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}


async def replies(allowed_origins: str) -> tuple[httpx.Response, httpx.Response]:
    """To the question that a browser asks first, and to a call."""
    settings = HttpSettings.model_validate({"allowed_origins": allowed_origins})
    async with stage([]) as on:
        transport = httpx.ASGITransport(build_app(on.engine, settings, on_loopback=True))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as browser:
            asked = await browser.options("/v1/functions/nobody", headers={"origin": PAGE, **PREFLIGHT})
            return asked, await browser.post("/v1/functions/nobody", headers={"origin": PAGE}, json={"input": "x"})


@pytest.mark.parametrize("allowed", [PAGE, f"{PAGE}/", "http://LOCALHOST:5173"])
async def test_a_page_of_an_allowed_origin_may_call_and_read_failures_too(allowed: str) -> None:
    asked, called = await replies(allowed)
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == called.headers["access-control-allow-origin"] == PAGE
    assert called.status_code == 404
    assert "deltawire-run-id" in called.headers["access-control-expose-headers"]


async def test_any_other_page_may_not() -> None:
    asked, called = await replies("http://localhost:3000")
    assert (asked.status_code, called.status_code) == (400, 403)
    assert "access-control-allow-origin" not in {*asked.headers, *called.headers}
