// A race under way: the same call on every lane, each with its track.

import { Changes } from "../live/changes.ts"
import type { Call, Tap, Wire } from "../wires/wire.ts"
import { runAll } from "./schedule.ts"
import { Track } from "./track.ts"

export class Lane {
  readonly track = new Track()
  readonly wire: Wire
  #began = 0
  readonly #now: () => number

  constructor(wire: Wire, now: () => number) {
    this.wire = wire
    this.#now = now
  }

  get takes(): Wire["takes"] {
    return this.wire.takes
  }

  /** Since the call was begun, to its end or to now, in ms. */
  get elapsed(): number {
    if (this.track.state === "waiting") return 0
    return this.track.ended ?? this.#now() - this.#began
  }

  async run(call: Call, signal: AbortSignal, changed: () => void): Promise<void> {
    const { track } = this
    this.#began = this.#now()
    track.begin()
    const tap: Tap = { sent() {}, received: (part) => track.read(size(part), this.elapsed) }
    for await (const event of this.wire.run(call, signal, tap)) {
      track.came(event, this.elapsed)
      changed()
    }
  }
}

export class Running {
  readonly lanes: readonly Lane[]
  readonly changes = new Changes(100) // what draws the lanes takes time from those who read them
  over = false
  readonly #stop = new AbortController()

  constructor(wires: readonly Wire[], now: () => number = () => performance.now()) {
    this.lanes = wires.map((wire) => new Lane(wire, now))
  }

  async start(call: Call, together: boolean): Promise<void> {
    const { signal } = this.#stop
    await runAll(this.lanes, together, signal, (lane) => lane.run(call, signal, () => this.changes.tell()))
    for (const { track } of this.lanes) if (track.state === "waiting") track.state = "stopped"
    this.over = true
    this.changes.now()
  }

  stop(): void {
    this.#stop.abort()
  }
}

const encoder = new TextEncoder()
const size = (part: string | Uint8Array): number => (typeof part === "string" ? encoder.encode(part) : part).length
