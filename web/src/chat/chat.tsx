import type { ReactNode } from "react"
import { AnswerView } from "../answer/answer.tsx"
import { useFollow } from "../answer/follow.ts"
import type { Answer } from "../answer/state.ts"
import type { Turn } from "./conversation.ts"

interface Props {
  readonly turns: readonly Turn[]
  /** What the user has said in the turn that is under way. */
  readonly saying: string
  readonly answer: Answer | null
  readonly typed: boolean
  readonly empty: ReactNode
}

/** A conversation, with the answer that is under way as its last turn. */
export function Chat({ turns, saying, answer, typed, empty }: Props) {
  const end = useFollow(answer ?? turns)
  const all = answer === null ? turns : [...turns, { said: saying, answer }]
  return (
    <>
      {all.length === 0 && empty}
      <ol className="turns" aria-label="Conversation">
        {all.map((turn, at) => (
          <li key={at}>
            <div className="said as-is"><b className="hidden">You said: </b>{turn.said}</div>
            <AnswerView answer={turn.answer} typed={typed} folded />
          </li>
        ))}
      </ol>
      <div ref={end} />
    </>
  )
}
