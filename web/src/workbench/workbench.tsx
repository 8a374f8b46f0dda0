// A function at work: its form, and what came of it.

import { useEffect, useState } from "react"
import { LoneAnswer } from "../answer/answer.tsx"
import type { FunctionInfo } from "../api/functions.ts"
import type { Place } from "../api/place.ts"
import { Chat } from "../chat/chat.tsx"
import { Race } from "../race/race.tsx"
import { useRace } from "../race/use_race.ts"
import { Raw } from "../raw/raw.tsx"
import { Snippets } from "../snippets/snippets.tsx"
import type { Wire } from "../wires/wire.ts"
import { Form } from "./form.tsx"
import { Tabs } from "./tabs.tsx"
import { useWorkbench, type WorkbenchState } from "./use_workbench.ts"

/** The places of the tabs that show a run. */
const ANSWER = 0
const BYTES = 1

interface Props {
  readonly info: FunctionInfo
  readonly place: Place
  readonly wires: readonly Wire[]
  readonly wire: Wire
  readonly choose: (wire: Wire) => void
}

export function Workbench({ info, place, wires, wire, choose }: Props) {
  const [tab, setTab] = useState(ANSWER)
  const workbench = useWorkbench(info, wire)
  const race = useRace()
  const { call, recorder, run } = workbench
  useStopKey(run.running, run.stop)
  useTitle(info.name)
  const start = () => {
    if (workbench.start() && tab > BYTES) setTab(ANSWER)
  }
  const scripted = place.scripted.includes(info.name)
  const chatting = workbench.conversation.parameters !== null
  return (
    <section className={chatting ? "workbench chatting" : "workbench"} aria-labelledby="function">
      <Form info={info} workbench={workbench} wires={wires} wire={wire} choose={choose} start={start} />
      <div className="result">
        <Tabs label="What came of it" at={tab} choose={setTab} tabs={[
          { name: "Answer", panel: <Answered workbench={workbench} typed={info.output.type !== "string"} /> },
          { name: "Bytes", panel: <Raw recorder={recorder} /> },
          { name: "Code", panel: <Snippets call={call} wire={wire} place={place} /> },
          { name: "Race", panel: <Race call={call} wires={wires} scripted={scripted} race={race} /> },
        ]} />
      </div>
    </section>
  )
}

function Answered({ workbench, typed }: { workbench: WorkbenchState; typed: boolean }) {
  const { run: { answer }, conversation: { parameters, turns, saying } } = workbench
  const empty = (
    <p className="faint empty">The answer will be here. Enter runs, Shift and Enter make a new line, Esc stops.</p>
  )
  if (parameters !== null) return <Chat turns={turns} saying={saying} answer={answer} typed={typed} empty={empty} />
  return answer === null ? empty : <LoneAnswer answer={answer} typed={typed} />
}

function useStopKey(running: boolean, stop: () => void): void {
  useEffect(() => {
    if (!running) return
    const press = ({ key }: KeyboardEvent) => {
      if (key === "Escape") stop()
    }
    document.addEventListener("keydown", press)
    return () => document.removeEventListener("keydown", press)
  }, [running, stop])
}

function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · deltawire`
  }, [name])
}
