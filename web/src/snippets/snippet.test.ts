import assert from "node:assert/strict"
import { test } from "node:test"
import type { WireId } from "../wires/wire.ts"
import { languages, snippet } from "./snippet.ts"

const CALL = { function: "größe", input: { message: "hi" }, prompt: "hi", settings: { max_tokens: 9, seed: 7 } }
const PLACE = { api: new URL("https://llm.example/api/"), rpc: new URL("https://llm.example/grpc/") }
const language = (id: string) => languages.find((one) => one.id === id)!
const code = (id: string, wire: WireId): string => snippet(language(id), wire, CALL, PLACE).code

test("each wire has its address under the one that it is served at", () => {
  assert.match(code("curl", "sse"), /'https:\/\/llm\.example\/api\/v1\/functions\/gr%C3%B6%C3%9Fe'/)
  assert.match(code("curl", "article-starlette"), /'https:\/\/llm\.example\/api\/streaming\/starlette\/'/)
  assert.match(code("curl", "connect"), /'https:\/\/llm\.example\/api\/deltawire\.v1\.Functions\/Stream'/)
  assert.match(code("python", "websocket"), /"wss:\/\/llm\.example\/api\/v1\/ws"/)
  assert.match(code("typescript", "article-websocket"), /"wss:\/\/llm\.example\/api\/ws"/)
  assert.match(code("typescript", "grpc-web-google"), /"https:\/\/llm\.example\/grpc" \+ stream\.getName\(\)/)
})

test("settings are spelled as the wire spells them", () => {
  assert.match(code("curl", "ndjson"), /"settings":\{"max_tokens":9,"seed":7\}/)
  assert.match(code("curl", "connect"), /"settings":\{"maxTokens":9,"seed":7\}/)
  assert.match(code("curl", "article-fastapi"), /\{"prompt":"hi","max_tokens":9,"seed":7\}/)
})

test("where a language does not speak a wire, the nearest one is taken and told", () => {
  const { code, note } = snippet(language("go"), "grpc-web-google", CALL, PLACE)
  assert.match(code, /application\/connect\+json/)
  assert.equal(note, "Go has no client for gRPC-Web; this is Connect, the same call in JSON.")
  assert.match(snippet(language("ruby"), "websocket", CALL, PLACE).note!, /^Ruby has no WebSocket of its own/)
})

test("a call that is too long for an argument goes to curl's input", () => {
  const text = "it's ".repeat(30_000)
  const { code } = snippet(language("curl"), "sse", { ...CALL, input: { message: text } }, PLACE)
  assert.match(code, /--json @- /)
  const [, json] = code.split(/<<'JSON'\n|\nJSON\n/)
  assert.equal(JSON.parse(json!).input.message, text)
})
