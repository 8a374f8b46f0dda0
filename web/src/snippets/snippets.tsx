// The call on screen as a program to copy: a language is picked, and remembered.

import { useState } from "react"
import type { Place } from "../api/place.ts"
import { CopyButton } from "../answer/copy.tsx"
import type { Call, Wire } from "../wires/wire.ts"
import { languages, snippet, type Language } from "./snippet.ts"
import "../look/switch.css"
import "./snippets.css"

interface Props {
  /** `null` while there is nothing to call, because the form is not filled in. */
  readonly call: Call | null
  readonly wire: Wire
  readonly place: Place
}

const SHOWN = 20_000 // characters; what is copied is whole

export function Snippets({ call, wire, place }: Props) {
  const [language, pick] = useState(remembered)
  if (call === null) return <p className="faint">Fill in the form: the call is shown here as a program.</p>
  const { code, note } = snippet(language, wire.id, call, place)
  const choose = (one: Language) => {
    pick(one)
    remember(one)
  }
  return (
    <section className="snippets" aria-label="The call as a program">
      <div className="snippets-head">
        <div role="group" aria-label="Language" className="switch">
          {languages.map((one) => (
            <button key={one.id} type="button" aria-pressed={one === language} onClick={() => choose(one)}>
              {one.name}
            </button>
          ))}
        </div>
        <CopyButton text={code} what={`the program in ${language.name}`} />
      </div>
      {note !== null && <p className="note">{note}</p>}
      <pre tabIndex={0} role="region" aria-label={`${language.name} for ${wire.name}`}>
        <code>{code.length > SHOWN ? `${code.slice(0, SHOWN)}\n… (cut here; what you copy is whole)` : code}</code>
      </pre>
    </section>
  )
}

const KEY = "deltawire.language"

function remembered(): Language {
  const first = languages[0] as Language
  try {
    return languages.find(({ id }) => id === localStorage.getItem(KEY)) ?? first
  } catch {
    return first // a browser may keep nothing
  }
}

function remember({ id }: Language): void {
  try {
    localStorage.setItem(KEY, id)
  } catch {
    // then it is picked anew each time
  }
}
