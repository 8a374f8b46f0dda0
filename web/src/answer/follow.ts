import { useEffect, useLayoutEffect, useRef } from "react"

const NEAR = 48
/** Pixels from the end at which a reader is taken to be there. */

/** Keeps the end of what grows in view, unless the reader has gone back. Put it where the growing thing ends. */
export function useFollow(grown: unknown) {
  const end = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  useEffect(() => {
    const panel = end.current?.closest('[role="tabpanel"]')
    if (panel === null || panel === undefined) return
    const scrolled = () => {
      following.current = panel.scrollHeight - panel.scrollTop - panel.clientHeight < NEAR
    }
    panel.addEventListener("scroll", scrolled, { passive: true })
    return () => panel.removeEventListener("scroll", scrolled)
  }, [])
  useLayoutEffect(() => {
    const panel = end.current?.closest('[role="tabpanel"]')
    if (following.current && panel) panel.scrollTop = panel.scrollHeight
  }, [grown])
  return end
}
