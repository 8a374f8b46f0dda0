import { useState } from "react"
import type { FunctionInfo } from "../api/functions.ts"

interface Props {
  readonly functions: readonly FunctionInfo[]
  readonly chosen: string
  readonly choose: (name: string) => void
}

/** The functions, and a search over their names and descriptions. */
export function FunctionList({ functions, chosen, choose }: Props) {
  const [search, setSearch] = useState("")
  const words = search.toLowerCase().split(/\s+/)
  const found = functions.filter(({ name, description }) => {
    const text = `${name} ${description}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return (
    <nav className="functions" aria-label="Functions">
      <input type="search" placeholder={`Search ${functions.length} functions`} aria-label="Search functions"
        value={search} onChange={({ target }) => setSearch(target.value)} />
      <ul>
        {found.map(({ name, description }) => (
          <li key={name}>
            <button type="button" aria-current={name === chosen ? "page" : undefined} onClick={() => choose(name)}>
              <b>{name}</b>
              <span>{description}</span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="faint" role="status">No function has these words.</p>}
    </nav>
  )
}
