"""The older way: a client that blocks, in an async generator, with a pause of a tenth of a second after each piece.

Each call makes a client of its own, and while that waits for the model every other caller waits too. What differs from
services of this kind is that the text goes out as JSON, for line breaks in it would otherwise not arrive.
"""

import asyncio
import json
from collections.abc import AsyncGenerator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import OpenAI
from pydantic import BaseModel

PAUSE = 0.1
"""Seconds."""

app = FastAPI()


class Chat(BaseModel):
    prompt: str


@app.post("/streaming/fastapi/")
async def chat(request: Chat) -> StreamingResponse:
    return StreamingResponse(_events(request.prompt), media_type="text/event-stream")


async def _events(prompt: str) -> AsyncGenerator[str]:
    stream = OpenAI().chat.completions.create(
        model="bench", messages=[{"role": "user", "content": prompt}], stream=True
    )
    for chunk in stream:
        if chunk.choices:
            yield f"data: {json.dumps({'text': chunk.choices[0].delta.content})}\n\n"
            await asyncio.sleep(PAUSE)
