"""A caller of providers: asks once, and keeps what it heard in order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from deltawire.domain.errors import RunError
from deltawire.domain.events import Piece, Reasoning, Text
from deltawire.domain.ports import Attempt, Completion, OutputSchema, Provider
from deltawire.domain.prompt import Message
from deltawire.providers.kept_secret import KeptSecret
from deltawire.providers.openai.provider import OpenAI
from deltawire.providers.openai.settings import OpenAISettings
from tests.upstream import Upstream

KEY = "sk-very-secret"
ITEM = OutputSchema(
    name="Item", schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
)


@dataclass
class Signs:
    """Implements ``domain.ports.Pulse``: counts the signs of life."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    connecting_seen: int = 0
    connected_seen: int = 0
    received_seen: int = 0

    def connecting(self) -> None:
        self.connecting_seen += 1
        self.begun.set()

    def connected(self) -> None:
        self.connected_seen += 1

    def received(self) -> None:
        self.received_seen += 1


@dataclass
class Heard:
    """What one attempt brought."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    completion: Completion | None = None
    error: RunError | None = None
    signs: Signs = field(default_factory=Signs)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Text))

    @property
    def reasoning(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Reasoning))

    @property
    def completed(self) -> Completion:
        assert self.completion is not None, self
        return self.completion

    @property
    def failure(self) -> RunError:
        assert self.error is not None, self
        return self.error


def attempt(
    signs: Signs, *, output: OutputSchema | None = None, content: str = "hello", max_tokens: int | None = None
) -> Attempt:
    return Attempt(
        model="m",
        messages=(Message(role="user", content=content),),
        max_tokens=max_tokens,
        temperature=None,
        seed=None,
        output=output,
        pulse=signs,
    )


def key(value: str) -> KeptSecret:
    """One that nobody changes."""
    return KeptSecret("up", value, lambda: value)


@asynccontextmanager
async def provider_at(base_url: str, **settings: object) -> AsyncGenerator[OpenAI, None]:
    provider = OpenAI("up", OpenAISettings.model_validate({"base_url": base_url, **settings}), key(KEY))
    try:
        yield provider
    finally:
        await provider.close()


async def ask(
    provider: Provider,
    *,
    output: OutputSchema | None = None,
    max_tokens: int | None = None,
    after_first: Callable[[], Awaitable[None]] | None = None,
    signs: Signs | None = None,
) -> Heard:
    """One attempt to its end. ``after_first`` is awaited while the attempt stands at its first piece."""
    heard = Heard(signs=signs or Signs())
    try:
        asked = attempt(heard.signs, output=output, max_tokens=max_tokens)
        async with asyncio.timeout(10), aclosing(provider.stream(asked)) as pieces:
            async for piece in pieces:
                assert heard.completion is None, "a completion is the last thing"
                if isinstance(piece, Completion):
                    heard.completion = piece
                else:
                    assert piece.text, "no piece is empty"
                    assert len(piece.text.encode()) <= 64 * 1024
                    heard.pieces.append(piece)
                    if after_first is not None:
                        await after_first()
                        after_first = None
    except RunError as error:
        heard.error = error
    return heard


async def first_piece(provider: Provider, signs: Signs) -> Piece | Completion:
    async with aclosing(provider.stream(attempt(signs))) as pieces:
        return await anext(pieces)


async def ask_once(upstream: Upstream, *, output: OutputSchema | None = None, **settings: object) -> Heard:
    """One attempt, with a provider of its own."""
    async with provider_at(upstream.base_url, **settings) as provider:
        return await ask(provider, output=output)
