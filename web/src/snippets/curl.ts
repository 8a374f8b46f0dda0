// Calls with curl, in a POSIX shell. `--json` needs curl 7.82.

import { jsonText, shellWord } from "./literals.ts"
import type { Request, Shape } from "./request.ts"

const ARGUMENT = 100_000 // bytes that one argument of a program may surely have

const FLAGS = "curl --silent --show-error --fail-with-body --no-buffer"

function posted(request: Request, header: string): string {
  const json = jsonText(request.body)
  const long = json.length > ARGUMENT
  const lines = [FLAGS, ...(header ? [`--header ${shellWord(header)}`] : []), `--json ${long ? "@-" : shellWord(json)}`]
  return `${[...lines, shellWord(request.url)].join(" \\\n  ")}${long ? ` <<'JSON'\n${json}\nJSON` : ""}\n`
}

/** A message of Connect stands behind five bytes: flags, and its length. */
function enveloped(request: Request): string {
  const json = jsonText({ ...request.body, inputJson: jsonText(request.input) })
  const length = new TextEncoder().encode(json).length
  const octal = [24, 16, 8, 0].map((bits) => `\\${((length >> bits) & 255).toString(8).padStart(3, "0")}`).join("")
  const stream = shellWord(`${request.url}/deltawire.v1.Functions/Stream`)
  return `printf '\\000${octal}%s' ${shellWord(json)} |
  ${FLAGS} --output - --data-binary @- \\
  --header 'content-type: application/connect+json' \\
  ${stream}\n`
}

export const curl: Partial<Record<Shape, (request: Request) => string>> = {
  sse: (request) => posted(request, `accept: ${request.accept}`),
  ndjson: (request) => posted(request, `accept: ${request.accept}`),
  text: (request) => posted(request, `accept: ${request.accept}`),
  article: (request) => posted(request, ""),
  connect: enveloped,
}
