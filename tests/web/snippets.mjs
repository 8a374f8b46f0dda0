// Prints the snippets of all languages for one call, as JSON: by wire, by language.
//
//   node snippets.mjs '{"call": {...}, "api": "http://..."}'

import { languages, snippet } from "../../web/src/snippets/snippet.ts"

const wires = [
  "sse", "ndjson", "text", "websocket", "connect", "grpc-web-connect", "grpc-web-google",
  "article-fastapi", "article-starlette", "article-websocket",
]
const { call, api } = JSON.parse(process.argv[2])
const addresses = { api: new URL(api), rpc: new URL(api) }
const ofLanguages = (wire) => languages.map((language) => [language.ending, snippet(language, wire, call, addresses)])
console.log(JSON.stringify(Object.fromEntries(wires.map((wire) => [wire, Object.fromEntries(ofLanguages(wire))]))))
