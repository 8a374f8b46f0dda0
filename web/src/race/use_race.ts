// A race that goes on while its tab is not shown, and ends when the function is left, or by Esc.

import { useEffect, useState } from "react"
import type { Call, Wire } from "../wires/wire.ts"
import { Running } from "./run.ts"

export interface RaceState {
  /** The last race, under way or over. */
  readonly running: Running | null
  readonly start: (call: Call, wires: readonly Wire[], together: boolean) => void
}

export function useRace(): RaceState {
  const [running, run] = useState<Running | null>(null)
  useEffect(() => {
    if (running === null) return
    const press = ({ key }: KeyboardEvent) => {
      if (key === "Escape") running.stop()
    }
    document.addEventListener("keydown", press)
    return () => {
      document.removeEventListener("keydown", press)
      running.stop()
    }
  }, [running])
  const start: RaceState["start"] = (call, wires, together) => {
    const next = new Running(wires)
    run(next)
    void next.start(call, together)
  }
  return { running, start }
}
