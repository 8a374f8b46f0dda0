import type { Schema } from "./schema.ts"

export interface FunctionInfo {
  readonly name: string
  readonly description: string
  readonly input: Schema
  readonly output: Schema
}

export async function readFunctions(api: URL): Promise<readonly FunctionInfo[]> {
  const reply = await fetch(new URL("v1/functions", api))
  if (!reply.ok) throw new Error(`${reply.url} answered ${reply.status} ${reply.statusText}`)
  return ((await reply.json()) as { functions: FunctionInfo[] }).functions
}

/** The parameter that a bare string is bound to: the only required one, if it is a string. */
export function promptParameter({ input }: FunctionInfo): string | null {
  const [name, ...others] = input.required ?? []
  if (name === undefined || others.length > 0) return null
  return input.properties?.[name]?.type === "string" ? name : null
}
