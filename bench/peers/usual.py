"""The usual way, as tutorials show it: FastAPI, OpenAI's SDK with its async client, a ``StreamingResponse``.

``uvicorn usual:app`` serves it, in an environment that holds nothing of ours. The client reads ``OPENAI_BASE_URL`` and
``OPENAI_API_KEY``.
"""

import json
from collections.abc import AsyncGenerator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from httpx2 import Limits
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic import BaseModel

# The SDK opens 1,000 connections at most; with that, 4,000 streams would be a figure of its queue.
client = AsyncOpenAI(http_client=DefaultAsyncHttpxClient(limits=Limits(max_keepalive_connections=100)))
app = FastAPI()


class Chat(BaseModel):
    message: str


@app.post("/chat")
async def chat(request: Chat) -> StreamingResponse:
    return StreamingResponse(_events(request.message), media_type="text/event-stream")


async def _events(message: str) -> AsyncGenerator[str]:
    stream = await client.chat.completions.create(
        model="bench", messages=[{"role": "user", "content": message}], stream=True
    )
    async for chunk in stream:
        if chunk.choices and (text := chunk.choices[0].delta.content):
            yield f"data: {json.dumps({'text': text})}\n\n"
