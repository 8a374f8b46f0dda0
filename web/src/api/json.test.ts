import assert from "node:assert/strict"
import { test } from "node:test"
import { objectOf } from "./json.ts"

const url = new URL("http://example.test/v1/functions")

test("a page in place of JSON is told with its address", async () => {
  const page = new Response("<!doctype html>", { headers: { "content-type": "text/html" } })
  await assert.rejects(objectOf(url, page), /http:\/\/example\.test\/v1\/functions answered with text\/html/)
  await assert.rejects(objectOf(url, Response.json([])), /no JSON object/)
})

test("an object is an object, and a failed status is none", async () => {
  assert.deepEqual(await objectOf(url, Response.json({ a: 1 })), { a: 1 })
  assert.equal(await objectOf(url, Response.json({}, { status: 404 })), null)
})
