import { useEffect, useState } from "react"
import { keep, kept } from "../form/kept.ts"

const THEMES = ["system", "light", "dark"] as const
type Theme = (typeof THEMES)[number]

/** As the system has it, or light, or dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(() => THEMES.find((each) => each === kept("theme")) ?? "system")
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"]
    else document.documentElement.dataset["theme"] = theme
    keep("theme", theme)
  }, [theme])
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system"
  return (
    <button type="button" className="small" onClick={() => setTheme(next)}
      aria-label={`Colours: ${theme}. Change to ${next}.`}>
      {{ system: "◐ System", light: "☀ Light", dark: "☾ Dark" }[theme]}
    </button>
  )
}
