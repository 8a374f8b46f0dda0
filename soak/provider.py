"""The provider of a soak: plays for each run what is written for it, found by the words of its prompt."""

import asyncio
import json
import re
from contextlib import suppress
from typing import Any

from tests.upstream import Exchange, Request, Step, Upstream, answer, silence
from typing_extensions import override

from soak.play import Play

_KEY = re.compile(rb"soak-(?:\d+|census)")


class Provider(Upstream):
    def __init__(self) -> None:
        super().__init__()
        self.plays: dict[str, Play] = {}
        self.asked: dict[str, list[Exchange]] = {}
        """The requests of each run that is under way."""
        self.late = 0
        """How many requests came when their run was over for its caller."""
        self.census: dict[str, int] = {}

    @override
    def answer(self, request: Request) -> tuple[Exchange, tuple[Step, ...]]:
        exchange = Exchange(request)
        found = _KEY.search(request.body)
        key = found[0].decode() if found else ""
        if key == "soak-census":
            self.census = _held(request.json)
            return exchange, (answer("counted"),)
        play = self.plays.get(key)
        if play is None:
            self.late += 1
            return exchange, (silence(),)  # whoever sent it is over, and must close it
        asked = self.asked[key]
        asked.append(exchange)
        if (steps := play.of_models.get(request.json["model"])) is None:
            steps = play.scripts[min(len(asked), len(play.scripts)) - 1]
        return exchange, tuple(steps)

    def expect(self, key: str, play: Play) -> None:
        self.plays[key], self.asked[key] = play, []

    async def given_up(self, key: str, *, within: float) -> None:
        """Return when the run's request has been left: its caller is given up."""
        async with asyncio.timeout(within):
            while not self.asked[key]:  # noqa: ASYNC110 - an event for each run would be there for these few
                await asyncio.sleep(0.05)
        await self.asked[key][0].client_left(within=within)

    async def forget(self, key: str, *, within: float) -> int:
        """How often the run asked. What is not played to its end has been left, or is soon: else AssertionError."""
        exchanges = self.asked[key]
        for exchange in exchanges:
            with suppress(AssertionError):
                await exchange.finished(within=within)
            if not exchange.played:
                await exchange.client_left(within=0.1)
        del self.plays[key], self.asked[key]
        return len(exchanges)

    @property
    def busy(self) -> int:
        """How many connections are open on which a request runs."""
        return sum(not connection.idle for connection in self._open)

    @property
    def trouble(self) -> list[BaseException]:
        """What went wrong in here."""
        return self._failures


def _held(request: dict[str, Any]) -> dict[str, int]:
    words: str = request["messages"][-1]["content"]
    return json.loads(words.partition(" ")[2])
