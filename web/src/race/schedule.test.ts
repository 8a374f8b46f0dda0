import assert from "node:assert/strict"
import { test } from "node:test"
import { runAll } from "./schedule.ts"

interface Lane {
  readonly id: string
  readonly takes: "http" | "websocket"
}

const lanes: readonly Lane[] = [
  ...["a", "b", "c", "d", "e", "f", "g"].map((id) => ({ id, takes: "http" as const })),
  { id: "w", takes: "websocket" },
  { id: "x", takes: "websocket" },
]

/** Lanes that end when they are told to. */
class Lanes {
  readonly running = new Map<string, () => void>()
  readonly begun: string[] = []

  readonly run = ({ id }: Lane): Promise<void> =>
    new Promise((resolve) => {
      this.begun.push(id)
      this.running.set(id, () => {
        this.running.delete(id)
        resolve()
      })
    })

  async end(id: string): Promise<void> {
    this.running.get(id)!()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test("five of those over HTTP run at once, and all WebSockets", async () => {
  const seen = new Lanes()
  const race = runAll(lanes, true, new AbortController().signal, seen.run)
  assert.deepEqual(seen.begun, ["a", "b", "c", "d", "e", "w", "x"])
  await seen.end("w")
  assert.equal(seen.begun.length, 7)
  await seen.end("c")
  assert.deepEqual([...seen.running.keys()], ["a", "b", "d", "e", "x", "f"])
  for (const { id } of lanes) if (id !== "w" && id !== "c") await seen.end(id)
  await race
  assert.equal(seen.begun.length, lanes.length)
})

test("on a real model one runs after the other", async () => {
  const seen = new Lanes()
  const race = runAll(lanes, false, new AbortController().signal, seen.run)
  for (const { id } of lanes) {
    assert.deepEqual([...seen.running.keys()], [id])
    await seen.end(id)
  }
  await race
})

test("after a stop none is begun", async () => {
  const seen = new Lanes()
  const stop = new AbortController()
  const race = runAll(lanes, false, stop.signal, seen.run)
  stop.abort()
  await seen.end("a")
  await race
  assert.deepEqual(seen.begun, ["a"])
})
