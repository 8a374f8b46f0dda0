// JSON from an address, or why there is none: a proxy that wants a sign-in answers with a page, and status 200.

/** The object that is there; `null` where nothing is. Throws an error that names the address. */
export async function objectAt(url: URL): Promise<Record<string, unknown> | null> {
  return objectOf(url, await fetch(url))
}

export async function objectOf(url: URL, reply: Response): Promise<Record<string, unknown> | null> {
  if (!reply.ok) return null
  const said: unknown = await reply.json().catch(() => undefined)
  if (typeof said === "object" && said !== null && !Array.isArray(said)) return said as Record<string, unknown>
  throw new Error(`${url} answered with ${reply.headers.get("content-type") ?? "something"} that is no JSON object`)
}
