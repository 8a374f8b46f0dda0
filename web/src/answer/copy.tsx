import { useState } from "react"

export function CopyButton({ text, what = "" }: { text: string; what?: string }) {
  const [said, say] = useState("Copy")
  const label = what && said === "Copy" ? { "aria-label": `Copy ${what}` } : {}
  const copy = async () => {
    say((await written(text)) ? "Copied" : "Not allowed")
    setTimeout(() => say("Copy"), 1500)
  }
  return (
    <button type="button" className="small" onClick={() => void copy()} {...label}>
      <span aria-live="polite">{said}</span>
    </button>
  )
}

/** A page that did not come over HTTPS, or from this machine, has no clipboard of the new kind. */
async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement("textarea")
    area.value = text
    document.body.append(area)
    area.select()
    const done = document.execCommand("copy")
    area.remove()
    return done
  }
}
