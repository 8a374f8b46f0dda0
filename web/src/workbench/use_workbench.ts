// A function at work: what has been typed, the call that it makes, and the run of it.

import { useEffect, useMemo, useState } from "react"
import { useRun } from "../answer/use_run.ts"
import type { FunctionInfo } from "../api/functions.ts"
import { useConversation } from "../chat/use_conversation.ts"
import { problemsIn, revived, type Draft, type Problem } from "../form/draft.ts"
import { keep, kept } from "../form/kept.ts"
import { objectField, settingsField } from "../form/settings.ts"
import { Recorder } from "../raw/recorder.ts"
import type { Call, Wire } from "../wires/wire.ts"
import { callOf, turnOf, type Drafts } from "./call.ts"

export type WorkbenchState = ReturnType<typeof useWorkbench>

export function useWorkbench(info: FunctionInfo, wire: Wire) {
  const field = useMemo(() => objectField(info.input), [info])
  const [drafts, setDrafts] = useDrafts(info.name, field)
  const [line, setLine] = useState("")
  const [shown, show] = useState<readonly Problem[]>([])
  const [recorder, record] = useState<Recorder | null>(null)
  const [last, remember] = useState<Call | null>(null)
  const conversation = useConversation(info)
  const run = useRun()

  const { parameters, turns } = conversation
  const own = parameters?.message ?? null
  const words = own === null ? line : wordsIn(drafts.input, own)
  const made = callOf(info, field, drafts)
  const { call, problems } = parameters === null ? made : turnOf(made, info, parameters, turns, words)

  const write = ({ line: nextLine, ...next }: Partial<Drafts & { line: string }>) => {
    setDrafts((before) => ({ ...before, ...next }))
    if (nextLine !== undefined) setLine(nextLine)
    show([])
  }
  /** In place of these words, if they still stand there. */
  const replace = (old: string, next: string) => {
    if (own === null) setLine((before) => (before === old ? next : before))
    else setDrafts((before) => (wordsIn(before.input, own) === old ? withWords(before, own, next) : before))
  }
  const recorded = async () => {
    const tap = new Recorder()
    record(tap)
    remember(call)
    const answer = await run.start(wire, call, tap)
    tap.changes.now()
    if (answer?.end?.type === "error") show(problemsIn(answer.end.message))
    return answer
  }
  const said = async () => {
    conversation.say(words)
    replace(words, "")
    const answer = await recorded()
    if (answer === null) return
    run.forget()
    conversation.answered(words, answer)
    if (answer.text === "" && answer.end?.type === "error") replace("", words) // to be said again
  }
  /** Begins a run, where the form is filled in; else shows what is wrong. Whether it has begun one. */
  const start = () => {
    show(problems)
    if (problems.length > 0) return false
    void (parameters === null ? recorded() : said())
    return true
  }
  // In a conversation the field is empty when its words are said.
  const between = parameters !== null && words === "" ? last : null
  const ready = problems.length === 0 ? call : between
  return { field, drafts, line, write, shown, recorder, conversation, run, start, call: ready }
}

/** As they were when this function was last seen here. */
function useDrafts(name: string, field: ReturnType<typeof objectField>) {
  const [drafts, setDrafts] = useState<Drafts>(() => ({
    input: revived(field, kept(`input of ${name}`), true),
    settings: revived(settingsField, kept(`settings of ${name}`), true),
  }))
  useEffect(() => {
    keep(`input of ${name}`, drafts.input)
    keep(`settings of ${name}`, drafts.settings)
  }, [name, drafts])
  return [drafts, setDrafts] as const
}

function wordsIn(input: Draft, name: string): string {
  const words = (input as Record<string, Draft>)[name]
  return typeof words === "string" ? words : ""
}

function withWords(drafts: Drafts, name: string, words: string): Drafts {
  return { ...drafts, input: { ...(drafts.input as Record<string, Draft>), [name]: words } }
}
