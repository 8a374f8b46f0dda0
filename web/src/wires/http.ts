// What the wires over fetch share: the call, its failed status, and the bytes that come.

import type { RunError, RunRequest } from "../api/events.ts"
import type { Place } from "../api/place.ts"
import type { Call, Tap } from "./wire.ts"

export function functionUrl(place: Place, call: Call): URL {
  return new URL(`v1/functions/${encodeURIComponent(call.function)}`, place.api)
}

/** The body of a call of this function. */
export function runRequest({ input, user, settings, timeout }: Call): RunRequest {
  return {
    input,
    ...(user !== undefined && { user }),
    ...(settings !== undefined && { settings }),
    ...(timeout !== undefined && { timeout }),
  }
}

export interface Reply {
  readonly runId: string | null
  readonly parts: AsyncIterable<Uint8Array>
}

/** Post JSON; the reply's body as it comes, or the error that its status is. */
export async function post(
  url: URL, accept: string, body: unknown, signal: AbortSignal, tap: Tap,
): Promise<Reply | RunError> {
  const text = JSON.stringify(body)
  const headers = { "content-type": "application/json", accept }
  tap.sent(`POST ${url.pathname} HTTP/1.1\r\n${headerLines(Object.entries(headers))}\r\n${text}`)
  const reply = await fetch(url, { method: "POST", headers, body: text, signal })
  tap.received(`HTTP/1.1 ${reply.status} ${reply.statusText}\r\n${headerLines(reply.headers)}\r\n`)
  if (!reply.ok) return failure(reply.status, reply.statusText, await tapped(reply, tap))
  return { runId: reply.headers.get("deltawire-run-id"), parts: parts(reply, tap) }
}

export function headerLines(headers: Iterable<readonly [string, string]>): string {
  return Array.from(headers, ([name, value]) => `${name}: ${value}\r\n`).join("")
}

async function tapped(reply: Response, tap: Tap): Promise<string> {
  const text = await reply.text()
  tap.received(text)
  return text
}

async function* parts(reply: Response, tap: Tap): AsyncGenerator<Uint8Array> {
  const reader = reply.body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      tap.received(value)
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {}) // who reads no further lets the server know
  }
}

/** The error that a failed status is: deltawire's own problem document, or what something on the way answers. */
export function failure(status: number, phrase: string, body: string): RunError {
  const problem = object(body)
  if (typeof problem["reason"] !== "string") {
    const message = `the server, or something before it, answered ${status} ${phrase}`.trimEnd()
    return { type: "error", code: "unknown", reason: `http_${status}`, message, run_id: null, partial: false }
  }
  const { code, reason, detail, run_id, retry_after } = problem
  return {
    type: "error",
    code: String(code),
    reason,
    message: String(detail),
    run_id: typeof run_id === "string" ? run_id : null,
    ...(typeof retry_after === "number" && { retry_after }),
    partial: problem["partial"] === true,
  }
}

function object(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
