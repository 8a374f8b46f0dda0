"""The older way: a client that blocks, in an async generator, with a pause of a tenth of a second after each piece.

While the client waits for the model, every other caller waits too. It is flattered in two ways: all calls share one
client, where services of this kind make one for each, which takes them 30 ms; and the text goes out as JSON, for line
breaks in it would otherwise not arrive.
"""

import asyncio
import json
from collections.abc import AsyncGenerator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from httpx2 import Limits
from openai import DefaultHttpxClient, OpenAI
from pydantic import BaseModel

PAUSE = 0.1
"""Seconds."""

client = OpenAI(http_client=DefaultHttpxClient(limits=Limits(max_keepalive_connections=100)))  # as many as it needs
app = FastAPI()


class Chat(BaseModel):
    prompt: str


@app.post("/streaming/fastapi/")
async def chat(request: Chat) -> StreamingResponse:
    return StreamingResponse(_events(request.prompt), media_type="text/event-stream")


async def _events(prompt: str) -> AsyncGenerator[str]:
    stream = client.chat.completions.create(model="bench", messages=[{"role": "user", "content": prompt}], stream=True)
    for chunk in stream:
        if chunk.choices:
            yield f"data: {json.dumps({'text': chunk.choices[0].delta.content})}\n\n"
            await asyncio.sleep(PAUSE)
