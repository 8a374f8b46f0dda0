import { useRef, useState, type ComponentProps, type DragEvent } from "react"

const LARGEST_FILE = 4_000_000
/** Bytes. A browser that shows more in a text field stands still. */

interface Props {
  readonly about: ComponentProps<"textarea">
  readonly label: string
  readonly text: string
  readonly code: boolean
  readonly change: (text: string) => void
}

/** A text, typed or taken from a file: dropped here, or chosen. */
export function TextField({ about, label, text, code, change }: Props) {
  const [over, setOver] = useState(false)
  const [wrong, setWrong] = useState("")
  const files = useRef<HTMLInputElement>(null)

  const take = async (file: File | undefined) => {
    if (file === undefined) return
    const read = await textOf(file)
    setWrong(read.wrong)
    if (read.text !== null) change(read.text)
  }
  const dropped = (event: DragEvent) => {
    setOver(false)
    if (event.dataTransfer.files.length === 0) return // text that is dropped is the browser's own
    event.preventDefault()
    void take(event.dataTransfer.files[0])
  }
  return (
    <div className={over ? "text over" : "text"}>
      <textarea {...about} className={code ? "code" : ""} rows={code ? 3 : 1} value={text} spellCheck={!code}
        enterKeyHint="send" onChange={({ target }) => change(target.value)}
        onDragOver={(event) => {
          if (!event.dataTransfer.types.includes("Files")) return
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)} onDrop={dropped} />
      <input ref={files} type="file" hidden onChange={({ target }) => {
        void take(target.files?.[0])
        target.value = ""
      }} />
      <button type="button" className="small file" aria-label={`Take ${label} from a file`}
        onClick={() => files.current?.click()}>File…</button>
      {wrong && <span className="wrong" role="alert">{wrong}</span>}
    </div>
  )
}

async function textOf(file: File): Promise<{ text: string | null; wrong: string }> {
  if (file.size > LARGEST_FILE) return { text: null, wrong: `${file.name} is larger than ${LARGEST_FILE / 1e6} MB` }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer())
    return { text, wrong: "" }
  } catch {
    return { text: null, wrong: `${file.name} is not text in UTF-8` }
  }
}
