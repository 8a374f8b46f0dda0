import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { Changes } from "./changes.ts"

test("many changes are told as one, and the last at once", (context: TestContext) => {
  context.mock.timers.enable({ apis: ["setTimeout"] })
  const changes = new Changes()
  let told = 0
  const leave = changes.subscribe(() => (told += 1))
  for (let count = 0; count < 100; count += 1) changes.tell()
  assert.equal(told, 0)
  context.mock.timers.tick(50)
  assert.deepEqual([told, changes.version()], [1, 1])
  changes.tell()
  changes.now()
  context.mock.timers.tick(1000)
  assert.equal(told, 2)
  leave()
  changes.now()
  assert.equal(told, 2)
})
