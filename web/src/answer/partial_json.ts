// JSON that is still being written: what of it can be shown already.

/** The value so far, and the path to the text, if any, at which the writer is. */
export interface Partial {
  readonly value: unknown
  readonly complete: boolean
}

/** Reads as far as there is something to read; `null` where nothing is yet, or where it is no JSON. What is begun and
 * not whole is left out, but for a string, which may be shown as it grows. Never throws. */
export function partialJson(text: string): Partial | null {
  const reader = new Reader(text)
  try {
    const value = reader.value()
    return value === unfinished ? null : { value, complete: !reader.cut }
  } catch (thrown) {
    if (thrown instanceof NoJson) return null
    throw thrown
  }
}

class NoJson extends Error {}

const unfinished: unique symbol = Symbol("unfinished")
const LITERALS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }
const DEEPEST = 200

class Reader {
  cut = false
  #at = 0
  #depth = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  value(): unknown {
    this.#space()
    const next = this.#text[this.#at]
    if (next === undefined) return this.#end()
    if (next === "{") return this.#nested(() => this.#object())
    if (next === "[") return this.#nested(() => this.#array())
    if (next === '"') return this.#string()
    return this.#scalar()
  }

  #nested(read: () => unknown): unknown {
    if (++this.#depth > DEEPEST) throw new NoJson()
    this.#at++
    const value = read()
    this.#depth--
    return value
  }

  #object(): unknown {
    const members: [string, unknown][] = []
    for (let first = true; !this.cut; first = false) {
      if (this.#closes("}", first)) break
      const name = this.#name()
      if (name === null) break
      const value = this.value()
      if (value !== unfinished) members.push([name, value])
    }
    return Object.fromEntries(members)
  }

  #array(): unknown {
    const items: unknown[] = []
    for (let first = true; !this.cut; first = false) {
      if (this.#closes("]", first)) break
      const value = this.value()
      if (value !== unfinished) items.push(value)
    }
    return items
  }

  /** Whether no further member or item comes; skips the comma before one that does. */
  #closes(bracket: string, first: boolean): boolean {
    this.#space()
    const next = this.#text[this.#at]
    if (next === undefined) return this.#end() === unfinished
    if (next === bracket) {
      this.#at++
      return true
    }
    if (first) return false
    if (next !== ",") throw new NoJson()
    this.#at++
    return false
  }

  /** A member's name with its colon; `null` where it is cut. */
  #name(): string | null {
    this.#space()
    const next = this.#text[this.#at]
    if (next !== undefined && next !== '"') throw new NoJson()
    const name = next === undefined ? this.#end() : this.#string()
    this.#space()
    if (this.cut || this.#at >= this.#text.length) {
      this.#end()
      return null
    }
    if (this.#text[this.#at++] !== ":") throw new NoJson()
    return name as string
  }

  #string(): string {
    const begin = this.#at++
    for (; this.#at < this.#text.length; this.#at++) {
      const next = this.#text[this.#at]
      if (next === "\\") this.#at++
      else if (next === '"') return this.#parse(this.#text.slice(begin, ++this.#at)) as string
    }
    this.#end()
    return this.#parse(`${withoutCutEscape(this.#text.slice(begin))}"`) as string
  }

  #scalar(): unknown {
    const [word = ""] = /^[-+.\w]*/.exec(this.#text.slice(this.#at, this.#at + 400)) ?? []
    if (word === "") throw new NoJson()
    this.#at += word.length
    if (this.#at >= this.#text.length) return word in LITERALS ? LITERALS[word] : this.#end() // a number may go on
    return this.#parse(word)
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text) as unknown
    } catch {
      throw new NoJson()
    }
  }

  #space(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? "")) this.#at++
  }

  #end(): typeof unfinished {
    this.cut = true
    return unfinished
  }
}

/** A backslash at the end begins an escape, unless it is itself the end of one. */
function withoutCutEscape(begun: string): string {
  return begun.replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1")
}
