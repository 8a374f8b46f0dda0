import assert from "node:assert/strict"
import { test } from "node:test"
import { verdict, type Answer } from "./verdict.ts"

const answer = (name: string, text: string, more: Partial<Answer> = {}): Answer =>
  ({ name, text, state: "finished", plainLines: false, ...more })

test("there is no word before the last lane has ended", () => {
  for (const state of ["waiting", "running"] as const) {
    assert.equal(verdict([answer("a", "x"), answer("b", "x", { state })]), null)
  }
})

test("equal is what is the same in each character", () => {
  assert.deepEqual(verdict([answer("a", "x\u2028y"), answer("b", "x\u2028y")]), {
    kind: "equal", words: "All 2 answers are equal: 3 characters, each one the same on every wire.",
  })
  assert.deepEqual(verdict([answer("a", "a😀c"), answer("b", "a😀X"), answer("c", "a😀c")]), {
    kind: "different", words: "The answers differ: 1 of 3 (b) from that of a, b from character 3 on.",
  })
})

test("where an event stream carries raw text, a CR is an LF, and on no other wire", () => {
  const all = [answer("article", "a\nb\nc", { plainLines: true }), answer("a", "a\r\nb\rc")]
  assert.equal(verdict(all)?.kind, "equal")
  assert.equal(verdict([...all, answer("b", "a\nb\nc")])?.kind, "different")
})

test("a part of an answer is a difference", () => {
  assert.match(verdict([answer("a", "abc"), answer("b", "ab")])!.words, /b from character 3 on/)
})

test("what failed is told, and is not equal", () => {
  assert.deepEqual(verdict([answer("a", "x"), answer("b", "x"), answer("c", "", { state: "failed" })]), {
    kind: "incomplete",
    words: "1 of 3 lanes did not finish. All 2 answers are equal: 1 character.",
  })
  assert.match(verdict([answer("a", "x"), answer("b", "", { state: "failed" })])!.words, /^Only one lane/)
  assert.deepEqual(verdict([answer("a", "", { state: "stopped" })]), { kind: "incomplete", words: "No lane finished." })
})
