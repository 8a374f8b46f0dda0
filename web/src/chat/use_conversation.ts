import { useMemo, useState } from "react"
import type { Answer } from "../answer/state.ts"
import type { FunctionInfo } from "../api/functions.ts"
import { conversationOf, type Parameters, type Turn } from "./conversation.ts"

export interface Conversation {
  /** Whether the function takes one. */
  readonly possible: boolean
  /** Where it goes, while the user wants one; else `null`. */
  readonly parameters: Parameters | null
  readonly turns: readonly Turn[]
  /** What the user has said in the turn that is under way. */
  readonly saying: string
  say(words: string): void
  answered(words: string, answer: Answer): void
  clear(): void
  toggle(): void
}

export function useConversation(info: FunctionInfo): Conversation {
  const found = useMemo(() => conversationOf(info), [info])
  const [wanted, want] = useState(true)
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [saying, say] = useState("")
  return {
    possible: found !== null,
    parameters: wanted ? found : null,
    turns,
    saying,
    say,
    answered: (said, answer) => setTurns((before) => [...before, { said, answer }]),
    clear: () => setTurns([]),
    toggle: () => want(!wanted),
  }
}
