// Where the API is, seen from the page. A proxy may have put it elsewhere; then it serves a playground.json of its own.

import { objectAt } from "./json.ts"

export interface Place {
  /** The base of the HTTP API and of its WebSockets; ends in a slash. */
  readonly api: URL
  /** The base of gRPC-Web; ends in a slash. Connect is beside the HTTP API: a proxy for gRPC-Web may not speak it. */
  readonly rpc: URL
  /** The function behind the article's endpoints, where there is one. */
  readonly articleFunction: string | null
  /** The functions whose model is scripted: such a one has room for many calls at once. */
  readonly scripted: readonly string[]
}

interface Told {
  readonly api?: string
  readonly grpc_web?: string
  readonly article_function?: string | null
  readonly scripted?: readonly string[]
}

/** What `playground.json` beside the page says; what a proxy's own does not say, the one beside the API does. Without
 * any, everything is beside the page. */
export async function readPlace(page: string): Promise<Place> {
  const told = await toldAt(page)
  const api = folder(told.api ?? "./", page)
  const more = told.scripted === undefined && api.href !== folder("./", page).href ? await toldAt(api.href) : {}
  return {
    api,
    rpc: folder(told.grpc_web ?? told.api ?? "./", page),
    articleFunction: told.article_function ?? more.article_function ?? null,
    scripted: told.scripted ?? more.scripted ?? [],
  }
}

async function toldAt(base: string): Promise<Told> {
  return (await objectAt(new URL("playground.json", base))) ?? {}
}

function folder(address: string, page: string): URL {
  return new URL(address.endsWith("/") ? address : `${address}/`, page)
}
