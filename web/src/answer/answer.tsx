import { useState } from "react"
import type { RunError } from "../api/events.ts"
import { advice } from "./advice.ts"
import { CopyButton } from "./copy.tsx"
import { useFollow } from "./follow.ts"
import { CodeBlock, Markdown } from "./markdown.tsx"
import { partialJson } from "./partial_json.ts"
import { figuresOf, stateOf, type Answer } from "./state.ts"
import { Tree } from "./tree.tsx"

interface Props {
  readonly answer: Answer
  /** Whether the function's output is more than text. */
  readonly typed: boolean
  /** Whether its figures are folded away. */
  readonly folded?: boolean
}

/** An answer as it grows. What is said to screen readers is how it stands, and not each piece. */
export function AnswerView({ answer, typed, folded = false }: Props) {
  const [plain, setPlain] = useState(false)
  const { text, reasoning, end } = answer
  const whole = end?.type === "finished" && typed ? JSON.stringify(end.output, null, 2) : text
  return (
    <article className="answer" aria-busy={end === null}>
      <header>
        <p className={`state ${end?.type ?? "running"}`} role="status">{stateOf(answer)}</p>
        {whole !== "" && (
          <div className="tools">
            <button type="button" className="small" aria-pressed={plain} onClick={() => setPlain(!plain)}>
              {typed ? "As JSON" : "As plain text"}
            </button>
            <CopyButton text={whole} what="the answer" />
          </div>
        )}
      </header>
      {reasoning !== "" && (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <div className="as-is">{reasoning}</div>
        </details>
      )}
      {whole !== "" && (
        <div className="body">
          {typed ? <Typed answer={answer} whole={whole} plain={plain} /> : <Written text={text} plain={plain} />}
        </div>
      )}
      {end?.type === "error" && <Failure error={end} />}
      <Figures answer={answer} folded={folded} />
    </article>
  )
}

function Written({ text, plain }: { text: string; plain: boolean }) {
  return plain ? <div className="as-is plain">{text}</div> : <Markdown text={text} />
}

function Typed({ answer, whole, plain }: { answer: Answer; whole: string; plain: boolean }) {
  if (plain) return <CodeBlock code={whole} language="json" />
  if (answer.end?.type === "finished") return <Tree value={answer.end.output} />
  const come = partialJson(answer.text)
  return come === null ? <div className="as-is plain">{answer.text}</div> : <Tree value={come.value} />
}

function Failure({ error }: { error: RunError }) {
  const { code, reason, message, retry_after: wait, partial } = error
  if (reason === "stopped") return null
  return (
    <div className="failure" role="alert">
      <p><b>{reason.replaceAll("_", " ")}</b> <code>{code}</code></p>
      <p className="as-is message">{message}</p>
      <p>{advice(reason)}</p>
      {wait !== undefined && <p>It may succeed in {wait} s.</p>}
      {partial && <p>What came before it is shown above, and is not the whole answer.</p>}
    </div>
  )
}

function Figures({ answer, folded }: { answer: Answer; folded: boolean }) {
  const figures = figuresOf(answer)
  if (figures.length === 0) return null
  const list = (
    <dl className="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
  if (!folded) return list
  return (
    <details className="folded">
      <summary>Figures</summary>
      {list}
    </details>
  )
}

/** One answer, of which the end stays in view. */
export function LoneAnswer({ answer, typed }: { answer: Answer; typed: boolean }) {
  const end = useFollow(answer)
  return (
    <>
      <AnswerView answer={answer} typed={typed} />
      <div ref={end} />
    </>
  )
}
