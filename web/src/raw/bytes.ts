// Bytes for eyes: as text in which nothing is invisible, and as a dump in hexadecimal digits.

const ROW = 16

/** A run of text, or of what cannot be seen, written as programs write it. */
export interface Run {
  readonly text: string
  readonly special: boolean
}

const DELETE = 0x7f
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n\n", "\r": "\\r", "\t": "\\t", "\0": "\\0" }
const UNSEEN = /[\u0080-\u00a0\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/

/** As UTF-8, as far as it is; a line ends after each line feed. */
export function readable(bytes: Uint8Array): Run[] {
  const runs: { text: string; special: boolean }[] = []
  const add = (text: string, special: boolean): void => {
    const last = runs.at(-1)
    if (last?.special === special) last.text += text
    else runs.push({ text, special })
  }
  for (const character of characters(bytes)) {
    const code = typeof character === "number" ? character : character.charCodeAt(0)
    if (typeof character === "number") add(`\\x${digits(code)}`, true)
    else if (character in NAMED) add(NAMED[character] as string, true)
    else if (code < 0x20 || code === DELETE) add(`\\x${digits(code)}`, true)
    else if (UNSEEN.test(character)) add(`\\u${code.toString(16).padStart(4, "0")}`, true)
    else add(character, false)
  }
  return runs
}

/** Whole characters, and each byte that is part of none. */
function* characters(bytes: Uint8Array): Generator<string | number> {
  for (let index = 0; index < bytes.length; ) {
    const length = lengthOf(bytes[index] as number)
    const character = length === 0 ? null : decoded(bytes.subarray(index, index + length), length)
    yield character ?? (bytes[index] as number)
    index += character === null ? 1 : length
  }
}

/** Of the character that begins with this byte, in bytes; 0 where none does. */
function lengthOf(byte: number): number {
  if (byte < 0x80) return 1
  if (byte < 0xc2) return 0
  if (byte < 0xe0) return 2
  if (byte < 0xf0) return 3
  return byte < 0xf5 ? 4 : 0
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

function decoded(bytes: Uint8Array, length: number): string | null {
  if (bytes.length < length) return null
  if (length === 1) return String.fromCharCode(bytes[0] as number)
  try {
    return strict.decode(bytes)
  } catch {
    return null
  }
}

const digits = (byte: number): string => byte.toString(16).padStart(2, "0")

/** Offset, sixteen bytes, and what of them is printable in ASCII: a line for each row. */
export function hexDump(bytes: Uint8Array): string {
  const rows: string[] = []
  for (let offset = 0; offset < bytes.length; offset += ROW) {
    const row = [...bytes.subarray(offset, offset + ROW)]
    const half = (part: number[]): string => part.map(digits).join(" ")
    const hex = `${half(row.slice(0, ROW / 2))}  ${half(row.slice(ROW / 2))}`.padEnd(ROW * 3)
    const ascii = row.map((byte) => (byte >= 0x20 && byte < DELETE ? String.fromCharCode(byte) : ".")).join("")
    rows.push(`${offset.toString(16).padStart(6, "0")}  ${hex}  ${ascii}`)
  }
  return rows.join("\n")
}
