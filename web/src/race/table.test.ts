import assert from "node:assert/strict"
import { test } from "node:test"
import { columns, markdown } from "./table.ts"

test("the table is Markdown, with a dash for what there is not", () => {
  const figures = {
    firstToken: 3.14159, tokensPerSecond: 1234.5, medianGap: null, longestGap: 12.3,
    pieces: 1000, characters: 5000, bytes: 123456, duration: 2000.4,
  }
  const [head, rule, row] = markdown([{ name: "SSE", state: "finished", tokens: null, figures }]).split("\n")
  assert.equal(head, `| Wire | ${columns.map(({ title }) => title).join(" | ")} | End |`)
  assert.match(rule!, /^\| --- (\| ---: )+\| --- \|$/)
  assert.equal(row, "| SSE | 3.1 | 1,235 | – | 12 | 1,000 | 5,000 | 123,456 | 2,000 | finished |")
})
