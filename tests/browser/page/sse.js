// fetch, and a parser of server-sent events: EventSource itself can only GET.

import { EventSourceParserStream } from "eventsource-parser/stream"

export async function sse(url, { name, input, timeout }, saw, signal) {
  const reply = await fetch(`${url}/v1/functions/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ input, timeout }),
    signal,
  })
  saw.runId(reply.headers.get("deltawire-run-id"))
  if (!reply.ok) {
    const { code, reason, detail, run_id } = await reply.json()
    throw { code, message: detail, reason, about: { run_id, partial: "false" } }
  }
  const events = reply.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { event, data } of events) {
    const { text, finish_reason, code, message, reason, run_id, partial } = JSON.parse(data)
    if (event === "text") saw.piece(text)
    if (event === "finished") saw.finished(finish_reason)
    if (event === "error") throw { code, message, reason, about: { run_id, partial: String(partial) } }
  }
}
