import { objectOf } from "./json.ts"
import type { Schema } from "./schema.ts"

export interface FunctionInfo {
  readonly name: string
  readonly description: string
  readonly input: Schema
  readonly output: Schema
}

export async function readFunctions(api: URL): Promise<readonly FunctionInfo[]> {
  const url = new URL("v1/functions", api)
  const reply = await fetch(url)
  if (!reply.ok) throw new Error(`${url} answered ${reply.status} ${reply.statusText}`)
  const functions = (await objectOf(url, reply))?.["functions"]
  if (!Array.isArray(functions)) throw new Error(`${url} lists no functions`)
  return functions as FunctionInfo[]
}

/** The parameter that a bare string is bound to: the only required one, if it is a string. */
export function promptParameter({ input }: FunctionInfo): string | null {
  const [name, ...others] = input.required ?? []
  if (name === undefined || others.length > 0) return null
  return input.properties?.[name]?.type === "string" ? name : null
}
