"""The page under ``/docs``: it asks nobody but this server, and nothing in it runs but its own script."""

import re

import pytest

from tests.matrix.server import Server
from tests.transports.raw import ask

pytestmark = pytest.mark.anyio


async def test_a_strict_policy_holds_the_page(server: Server) -> None:
    reply = await ask(server, "GET", "/docs")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"  # what is data cannot become markup


async def test_the_page_fits_its_policy_and_asks_nobody_else(server: Server) -> None:
    page = (await ask(server, "GET", "/docs")).body.decode()
    script = (await ask(server, "GET", "/docs/docs.js")).body.decode()
    style = (await ask(server, "GET", "/docs/docs.css")).body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)  # nothing inline
    assert not re.search(r"https?:|//[\w-]+\.|@import|url\(", page + style)
    assert not re.search(r"https?:|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(", script)
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert {*named} == {"data:,", "docs/docs.css", "docs/docs.js", "openapi.json"}
