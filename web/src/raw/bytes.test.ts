import assert from "node:assert/strict"
import { test } from "node:test"
import { hexDump, readable } from "./bytes.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const shown = (data: Uint8Array): string => readable(data).map(({ text }) => text).join("")

test("nothing is invisible", () => {
  assert.equal(shown(bytes("a\r\n\0\u007f\u2028\u202e\ufeff")), "a\\r\\n\n\\0\\x7f\\u2028\\u202e\\ufeff")
  assert.equal(shown(Uint8Array.of(0x80, 0xff, 0xc3)), "\\x80\\xff\\xc3")
})

test("characters stay whole, and half ones are bytes", () => {
  assert.equal(shown(bytes("é日😀")), "é日😀")
  assert.equal(shown(bytes("😀").subarray(0, 3)), "\\xf0\\x9f\\x98")
  assert.equal(shown(Uint8Array.of(0xed, 0xa0, 0x80, 0xc0, 0xaf)), "\\xed\\xa0\\x80\\xc0\\xaf") // surrogates, overlong
})

test("what is special stands apart from the text, so that a backslash in it deceives nobody", () => {
  assert.deepEqual(readable(bytes("\\x00\0")), [{ text: "\\x00", special: false }, { text: "\\0", special: true }])
})

test("a dump has sixteen bytes a row", () => {
  assert.equal(
    hexDump(Uint8Array.from({ length: 17 }, (_, index) => 0x40 + index)),
    "000000  40 41 42 43 44 45 46 47  48 49 4a 4b 4c 4d 4e 4f  @ABCDEFGHIJKLMNO\n" +
      "000010  50                                                P",
  )
  assert.equal(hexDump(Uint8Array.of(0, 0x7f, 0xe9)).slice(-3), "...")
})
