import { useEffect, useRef, type KeyboardEvent } from "react"
import type { FunctionInfo } from "../api/functions.ts"
import { Members } from "../form/form.tsx"
import { objectField, settingsField } from "../form/settings.ts"
import type { Wire } from "../wires/wire.ts"
import { Buttons } from "./buttons.tsx"
import { INPUT, LINE, SETTINGS } from "./call.ts"
import type { WorkbenchState } from "./use_workbench.ts"
import { WireChoice } from "./wire_choice.tsx"

interface Props {
  readonly info: FunctionInfo
  readonly workbench: WorkbenchState
  readonly wires: readonly Wire[]
  readonly wire: Wire
  readonly choose: (wire: Wire) => void
  readonly start: () => void
}

/** For a function that takes messages and no text of its own. */
const LINE_FIELD = objectField({ type: "object", properties: { [LINE]: { type: "string" } }, required: [LINE] })

export function Form({ info, workbench, wires, wire, choose, start }: Props) {
  const { field, drafts, line, write, shown, conversation, run } = workbench
  const { parameters } = conversation
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (shown.length > 0) form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus()
  }, [shown])
  const press = (event: KeyboardEvent) => {
    if (!meansRun(event)) return
    event.preventDefault()
    if (!run.running) start()
  }
  return (
    <form ref={form} noValidate onKeyDown={press} onSubmit={(event) => {
      event.preventDefault()
      start()
    }}>
      <h2 id="function">{info.name}</h2>
      <p className="about">{info.description}</p>
      {parameters?.message === null && (
        <Members field={LINE_FIELD} draft={{ [LINE]: line }} required path={INPUT} problems={shown}
          change={(next) => write({ line: String((next as Record<string, unknown>)[LINE]) })} />
      )}
      <Members field={field} draft={drafts.input} required path={INPUT} problems={shown}
        without={parameters === null ? [] : [parameters.history]} change={(input) => write({ input })} />
      <Buttons run={run} conversation={conversation} />
      <WireChoice wires={wires} chosen={wire} choose={choose} />
      <details className="settings">
        <summary>Settings</summary>
        <Members field={settingsField} draft={drafts.settings} required path={SETTINGS} problems={shown}
          change={(settings) => write({ settings })} />
      </details>
    </form>
  )
}

/** Enter does, but for one that makes a new line: with Shift, within JSON, or while characters are put together. */
function meansRun({ key, shiftKey, ctrlKey, target, nativeEvent }: KeyboardEvent): boolean {
  if (key !== "Enter" || shiftKey || nativeEvent.isComposing) return false
  if (target instanceof HTMLInputElement) return true
  return target instanceof HTMLTextAreaElement && (ctrlKey || !target.classList.contains("code"))
}
