// What came on one lane of a race, and when; times are milliseconds since the lane's call was begun.

import type { Event, RunError, Usage } from "../api/events.ts"

export type State = "waiting" | "running" | "finished" | "failed" | "stopped"

/** A count that grew: to `total`, at this time. */
export interface Mark {
  readonly at: number
  readonly total: number
}

export class Track {
  state: State = "waiting"
  text = ""
  /** After each piece of the answer: how many characters have come. */
  readonly pieces: Mark[] = []
  /** After each read from the network: how many bytes have come. */
  readonly reads: Mark[] = []
  /** When the end came. */
  ended: number | null = null
  usage: Usage | null = null
  error: RunError | null = null

  begin(): void {
    this.state = "running"
  }

  came(event: Event, at: number): void {
    switch (event.type) {
      case "text":
        this.text += event.text
        this.pieces.push({ at, total: (this.pieces.at(-1)?.total ?? 0) + characters(event.text) })
        break
      case "finished":
        this.#end("finished", at)
        this.usage = event.usage
        break
      case "error":
        this.#end(event.reason === "stopped" ? "stopped" : "failed", at)
        this.error = event
    }
  }

  read(bytes: number, at: number): void {
    this.reads.push({ at, total: (this.reads.at(-1)?.total ?? 0) + bytes })
  }

  #end(state: State, at: number): void {
    this.state = state
    this.ended = at
  }
}

/** How many there are, of which an emoji may be two of JavaScript's. */
export function characters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
