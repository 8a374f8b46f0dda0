import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react"

export interface Tab {
  readonly name: string
  readonly panel: ReactNode
}

interface Props {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly at: number
  readonly choose: (at: number) => void
}

/** Tabs as the ARIA practices have them: one is in the order of focus, arrows lead to the others. A panel is made when
 * it is first looked at, and then stays as it is. */
export function Tabs({ label, tabs, at, choose }: Props) {
  const id = useId()
  const [seen, see] = useState<ReadonlySet<number>>(new Set([at]))
  if (!seen.has(at)) see(new Set([...seen, at]))
  const list = useRef<HTMLDivElement>(null)
  const walk = ({ key }: KeyboardEvent) => {
    const last = tabs.length - 1
    const steps: Readonly<Record<string, number>> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last }
    const step = steps[key]
    if (step === undefined) return
    const next = (step + tabs.length) % tabs.length
    choose(next)
    list.current?.querySelectorAll("button")[next]?.focus()
  }
  return (
    <>
      <div role="tablist" aria-label={label} className="tabs" ref={list} onKeyDown={walk}>
        {tabs.map(({ name }, place) => (
          <button key={name} type="button" role="tab" id={`${id}-${place}`} aria-controls={`${id}-${place}-panel`}
            aria-selected={place === at} tabIndex={place === at ? 0 : -1} onClick={() => choose(place)}>{name}</button>
        ))}
      </div>
      {tabs.map(({ name, panel }, place) => (
        <div key={name} role="tabpanel" id={`${id}-${place}-panel`} aria-labelledby={`${id}-${place}`}
          className="panel" tabIndex={0} hidden={place !== at}>
          {seen.has(place) && panel}
        </div>
      ))}
    </>
  )
}
