// What the browser remembers for this page. Where it may not, nothing is.

const key = (name: string) => `deltawire ${new URL(".", document.baseURI).pathname} ${name}`

export function kept(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key(name)) ?? "null") as unknown
  } catch {
    return null
  }
}

export function keep(name: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(key(name))
    else localStorage.setItem(key(name), JSON.stringify(value))
  } catch {
    // full, or switched off
  }
}
