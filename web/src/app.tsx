import { Component, Suspense, use, useState, useSyncExternalStore, type ReactNode } from "react"
import { readFunctions, type FunctionInfo } from "./api/functions.ts"
import { readPlace, type Place } from "./api/place.ts"
import { Workbench } from "./workbench/workbench.tsx"
import { FunctionList } from "./workbench/function_list.tsx"
import { keep, kept } from "./form/kept.ts"
import { ThemeButton } from "./look/theme.tsx"
import { wiresOf } from "./wires/index.ts"
import type { Wire } from "./wires/wire.ts"

interface There {
  readonly place: Place
  readonly functions: readonly FunctionInfo[]
  readonly wires: readonly Wire[]
}

async function find(): Promise<There> {
  const place = await readPlace(document.baseURI)
  return { place, functions: await readFunctions(place.api), wires: wiresOf(place) }
}

export function App() {
  const [there, look] = useState(find)
  return (
    <>
      <header className="top">
        <h1>deltawire <span>playground</span></h1>
        <nav aria-label="More">
          <a href="docs">API</a>
          <ThemeButton />
        </nav>
      </header>
      <Guarded again={() => look(find)}>
        <Suspense fallback={<p className="empty faint" role="status">Asking the server for its functions …</p>}>
          <Page there={there} />
        </Suspense>
      </Guarded>
    </>
  )
}

function Page({ there }: { there: Promise<There> }) {
  const { place, functions, wires } = use(there)
  const [name, choose] = useHash()
  const [wireId, setWireId] = useState(() => kept("wire"))
  const info = functions.find((each) => each.name === name) ?? functions[0]
  if (info === undefined) return <p className="empty">This server has no functions.</p>
  const usable = wires.filter((wire) => !wire.article || info.name === place.articleFunction)
  const wire = usable.find(({ id }) => id === wireId) ?? usable[0]
  if (wire === undefined) return null
  const chooseWire = ({ id }: Wire) => {
    setWireId(id)
    keep("wire", id)
  }
  return (
    <div className="page">
      <FunctionList functions={functions} chosen={info.name} choose={choose} />
      <main>
        <Workbench key={info.name} info={info} place={place} wires={usable} wire={wire} choose={chooseWire} />
      </main>
    </div>
  )
}

/** The function's name, in the page's address. */
function useHash(): [string, (name: string) => void] {
  const hash = useSyncExternalStore(whenHashChanges, () => location.hash)
  return [decoded(hash.slice(1)), (name) => (location.hash = encodeURIComponent(name))]
}

function whenHashChanges(changed: () => void): () => void {
  addEventListener("hashchange", changed)
  return () => removeEventListener("hashchange", changed)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Shows what went wrong in place of the page. */
class Guarded extends Component<{ children: ReactNode; again: () => void }, { failure: unknown }> {
  override state: { failure: unknown } = { failure: null }

  static getDerivedStateFromError(failure: unknown) {
    return { failure }
  }

  override render() {
    const { failure } = this.state
    if (failure === null) return this.props.children
    return (
      <div className="failure" role="alert">
        <p>The page cannot be shown: {failure instanceof Error ? failure.message : String(failure)}</p>
        <p>See whether the server runs, then <button type="button" onClick={() => {
          this.setState({ failure: null })
          this.props.again()
        }}>try again</button></p>
      </div>
    )
  }
}
