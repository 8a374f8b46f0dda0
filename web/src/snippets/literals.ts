// Values of JSON as literals of other languages. In goes a value, out comes source text that means exactly this value,
// whatever quotes, interpolations, line breaks or invisible characters are in it.

type List = readonly Json[]
type Members = { readonly [name: string]: Json | undefined }
/** What JSON can hold; a `bigint` is for TypeScript alone. */
export type Json = null | boolean | number | bigint | string | List | Members

interface Syntax {
  readonly null: string
  readonly true: string
  readonly false: string
  readonly string: (text: string) => string
  readonly number?: (value: number) => string
  readonly list: readonly [string, string]
  readonly object: (members: readonly (readonly [string, Json])[]) => readonly [string, string]
  readonly member: (name: string) => string
  /** What stands within the braces of an object on one line. */
  readonly padding: string
  readonly indent: string
  /** Whether the last element of a list over many lines has its comma too. */
  readonly lastComma: boolean
}

const WIDTH = 96

// What cannot be seen, or turns around how the rest of a line is shown: controls, separators, zero widths, directions,
// and halves of surrogate pairs. In source such a character is always written by its number.
const UNSEEN =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\u{e0000}-\u{e0fff}]|\p{Cs}/gu

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** The text in double quotes. `special` matches what else needs a backslash before it. */
function quoted(text: string, special: RegExp, numbered: (codePoint: number) => string): string {
  const escaped = text.replace(special, "\\$&")
  const shown = escaped.replace(UNSEEN, (found) => SHORT[found] ?? numbered(whole(found.codePointAt(0) ?? 0)))
  return `"${shown}"`
}

/** Half a surrogate pair is no character: no language sends it as it is. */
const whole = (codePoint: number): number => (codePoint >= 0xd800 && codePoint <= 0xdfff ? 0xfffd : codePoint)

const hex = (codePoint: number, digits: number): string => codePoint.toString(16).padStart(digits, "0")
const four = (codePoint: number): string =>
  codePoint > 0xffff ? `\\U${hex(codePoint, 8)}` : `\\u${hex(codePoint, 4)}`
const braced = (codePoint: number): string => `\\u{${hex(codePoint, 1)}}`

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
const strings = {
  python: (text: string) => quoted(text, /[\\"]/g, four),
  typescript: (text: string) =>
    quoted(text, /[\\"]/g, (codePoint) => (codePoint > 0xffff ? braced(codePoint) : four(codePoint))),
  php: (text: string) => quoted(text, /[\\"$]/g, braced),
  go: (text: string) => quoted(text, /[\\"]/g, four),
  ruby: (text: string) => quoted(text, /[\\"#]/g, braced),
} as const

export type Language = keyof typeof strings

const curly = (): [string, string] => ["{", "}"]
const square: [string, string] = ["[", "]"]

const SYNTAX: Readonly<Record<Language, Syntax>> = {
  python: {
    null: "None", true: "True", false: "False", string: strings.python, list: square, object: curly,
    member: (name) => `${strings.python(name)}: `, padding: "", indent: "    ", lastComma: true,
  },
  typescript: {
    null: "null", true: "true", false: "false", string: strings.typescript, list: square, object: curly,
    // As a plain name, __proto__ would not become a member.
    member: (name) =>
      name === "__proto__" ? `["__proto__"]: ` : `${IDENTIFIER.test(name) ? name : strings.typescript(name)}: `,
    padding: " ", indent: "  ", lastComma: true,
  },
  php: {
    null: "null", true: "true", false: "false", string: strings.php, number: in64Bits, list: square,
    // An array is written as a list where its keys are 0, 1, 2 …, or where it has none.
    object: (members) => [members.every(([name], index) => name === String(index)) ? "(object) [" : "[", "]"],
    member: (name) => `${strings.php(name)} => `, padding: "", indent: "    ", lastComma: true,
  },
  go: {
    null: "nil", true: "true", false: "false", string: strings.go, number: in64Bits,
    list: ["[]any{", "}"], object: () => ["map[string]any{", "}"],
    member: (name) => `${strings.go(name)}: `, padding: "", indent: "\t", lastComma: true,
  },
  ruby: {
    null: "nil", true: "true", false: "false", string: strings.ruby, list: square, object: curly,
    member: (name) => (IDENTIFIER.test(name) ? `${name}: ` : `${strings.ruby(name)} => `),
    padding: " ", indent: "  ", lastComma: false,
  },
}

/** JavaScript writes whole numbers without a point, up to 21 digits. What does not fit into 64 bits has to be a float. */
function in64Bits(value: number): string {
  return Number.isInteger(value) && Math.abs(value) >= 2 ** 63 ? value.toExponential() : String(value)
}

/** The text as a literal of the language. */
export function stringLiteral(text: string, language: Language): string {
  return SYNTAX[language].string(text)
}

/** The value as a literal of the language: on one line if it fits beside the `before` characters that stand there, else
 * over many, of which all but the first are indented by `depth`. */
export function literal(value: Json, language: Language, depth = 0, before = 0): string {
  const syntax = SYNTAX[language]
  switch (typeof value) {
    case "string":
      return syntax.string(value)
    case "number":
      return syntax.number?.(value) ?? String(value)
    case "bigint":
      return `${value}n`
    case "boolean":
      return value ? syntax.true : syntax.false
    case "object":
      return value === null ? syntax.null : composite(value, language, depth, before)
  }
}

function composite(value: List | Members, language: Language, depth: number, before: number): string {
  const syntax = SYNTAX[language]
  const members = isList(value) ? null : present(value)
  const [open, close] = members ? syntax.object(members) : syntax.list
  const parts = (within: number): string[] =>
    members
      ? members.map(([name, member]) => {
          const start = syntax.member(name)
          return start + literal(member, language, within, start.length)
        })
      : (value as List).map((element) => literal(element, language, within))
  const flat = parts(depth + 1)
  if (flat.length === 0) return open + close
  const padding = members ? syntax.padding : ""
  const line = open + padding + flat.join(", ") + padding + close
  const room = WIDTH - before - depth * syntax.indent.length
  if (!line.includes("\n") && line.length <= room) return line
  const indent = syntax.indent.repeat(depth + 1)
  const last = syntax.lastComma ? "," : ""
  return `${open}\n${flat.map((part) => indent + part).join(",\n")}${last}\n${syntax.indent.repeat(depth)}${close}`
}

const isList = (value: List | Members): value is List => Array.isArray(value)

const present = (value: Members): (readonly [string, Json])[] =>
  Object.entries(value).filter((member): member is [string, Json] => member[1] !== undefined)

/** The text as one word of a POSIX shell, as it is in ASCII. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The value as JSON text with nothing in it that cannot be seen. */
export function jsonText(value: Json): string {
  return JSON.stringify(value).replace(UNSEEN, (found) =>
    [...Array(found.length).keys()].map((index) => `\\u${hex(found.charCodeAt(index), 4)}`).join(""),
  )
}
