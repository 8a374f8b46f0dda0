// The bytes of a call as they went and came, with their times. However long the call is, no more than `LIMIT` bytes and
// `PARTS` parts are kept: half of them from its beginning, half from its end.

import { Changes } from "../live/changes.ts"
import type { Tap } from "../wires/wire.ts"

export const LIMIT = 256 * 1024
export const PARTS = 400

export interface Part {
  readonly direction: "sent" | "received"
  /** In ms since the call was begun. */
  readonly at: number
  readonly bytes: Uint8Array
  /** How many of its bytes are not kept. */
  readonly left: number
}

export class Recorder implements Tap {
  readonly changes = new Changes()
  readonly first: readonly Part[] = []
  readonly last: readonly Part[] = []
  /** What was between the two, and is not kept. */
  readonly omitted = { parts: 0, bytes: 0 }
  readonly totals = { sent: 0, received: 0 }
  #began: number | null = null
  #firstBytes = 0
  #lastBytes = 0
  readonly #encoder = new TextEncoder()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  sent(part: string | Uint8Array): void {
    this.#add("sent", part)
  }

  received(part: string | Uint8Array): void {
    this.#add("received", part)
  }

  #add(direction: Part["direction"], data: string | Uint8Array): void {
    const now = this.#now()
    this.#began ??= now
    const bytes = typeof data === "string" ? this.#encoder.encode(data) : data
    this.totals[direction] += bytes.length
    const kept = bytes.slice(0, LIMIT / 4) // a copy: a part of a larger buffer would keep all of it
    const part = { direction, at: now - this.#began, bytes: kept, left: bytes.length - kept.length }
    if (this.#fits(part)) this.#keepFirst(part)
    else this.#keepLast(part)
    this.changes.tell()
  }

  #fits({ bytes }: Part): boolean {
    const none = this.last.length === 0 && this.omitted.parts === 0
    return none && this.first.length < PARTS / 2 && this.#firstBytes + bytes.length <= LIMIT / 2
  }

  #keepFirst(part: Part): void {
    ;(this.first as Part[]).push(part)
    this.#firstBytes += part.bytes.length
  }

  #keepLast(part: Part): void {
    const last = this.last as Part[]
    last.push(part)
    this.#lastBytes += part.bytes.length
    while (last.length > PARTS / 2 || this.#lastBytes > LIMIT / 2) {
      const { bytes, left } = last.shift() as Part
      this.#lastBytes -= bytes.length
      this.omitted.parts += 1
      this.omitted.bytes += bytes.length + left
    }
  }
}
