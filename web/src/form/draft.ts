// What has been typed so far, and the value that it makes or what is wrong with it.

import type { Schema } from "../api/schema.ts"
import type { Field } from "./field.ts"

/** Of a text, a number and JSON: what was typed. Of a choice: the value as JSON. `null`: nothing is given. */
export type Draft = string | boolean | null | Draft[] | { [name: string]: Draft } | Alternative

/** Of a union: which option, and its draft. */
export class Alternative {
  readonly at: number
  readonly draft: Draft
  constructor(at: number, draft: Draft) {
    this.at = at
    this.draft = draft
  }
  toJSON(): unknown {
    return { "@at": this.at, draft: this.draft }
  }
}

export type Path = string

export interface Problem {
  /** The members and positions that lead to it, with dots between them. */
  readonly path: Path
  readonly message: string
}

/** Stands for a value that is not sent. */
export const nothing: unique symbol = Symbol("nothing")

/** A type may hold itself: so many levels of it are laid out at most, each further one when it is asked for. */
const LEVELS = 6

export function emptyDraft(field: Field, required: boolean, levels = LEVELS): Draft {
  switch (field.kind) {
    case "text":
    case "number":
    case "json":
      return ""
    case "choice":
      return required && field.values.length > 0 && !field.nullable ? JSON.stringify(field.values[0]) : ""
    case "boolean":
      return field.usual === null && !required ? "" : field.initially
    case "list":
      return []
    case "object":
      if (!required || field.nullable || levels === 0) return null
      return Object.fromEntries(
        field.members.map(({ name, required: needed, field: make }) => [name, emptyDraft(make(), needed, levels - 1)]),
      )
    case "union": {
      const at = Math.max(0, field.options.findIndex((option) => !needsItself(option)))
      const option = field.options[at]
      return option === undefined ? "" : new Alternative(at, emptyDraft(option, required, levels))
    }
  }
}

/** The draft of what is to be given, though it may be left out or be `null`. */
export function givenDraft(field: Field): Draft {
  return emptyDraft({ ...field, nullable: false }, true)
}

/** Whether a type may come again in what it needs: then another option is the one to begin with. */
function needsItself(field: Field): boolean {
  if (field.kind !== "object") return false
  const seen = new Set<Schema>()
  const leadsBack = (from: Field): boolean => {
    if (from.kind === "union") return from.options.some(leadsBack)
    if (from.kind !== "object" || from.nullable || seen.has(from.schema)) return false
    if (from.schema === field.schema) return true
    seen.add(from.schema)
    return from.members.some(({ required, field: make }) => required && leadsBack(make()))
  }
  return field.members.some(({ required, field: make }) => required && leadsBack(make()))
}

/** The value to send, with what is wrong with the draft. */
export function valueOf(
  field: Field, draft: Draft, required: boolean, path: Path = "",
): { value: unknown; problems: Problem[] } {
  const found: Problem[] = []
  const wrong: Wrong = (message) => {
    found.push({ path, message })
    return nothing
  }
  const value = read(field, draft, required, path, wrong, found)
  return { value, problems: found }
}

type Wrong = (message: string) => typeof nothing

function read(field: Field, draft: Draft, required: boolean, path: Path, wrong: Wrong, found: Problem[]): unknown {
  if (draft === null || draft === "") return absent(field, required, wrong)
  switch (field.kind) {
    case "text":
      return textProblem(field.schema, String(draft), wrong) ?? String(draft)
    case "number":
      return number(field.schema, field.integer, String(draft), wrong)
    case "choice":
    case "boolean":
      return typeof draft === "boolean" ? draft : parsed(String(draft), wrong)
    case "json":
      return parsed(String(draft), wrong)
    case "list":
      return Array.isArray(draft) ? list(field, draft, required, path, wrong, found) : nothing
    case "object":
      return object(field, draft as Record<string, Draft>, path, found)
    case "union": {
      const { at, draft: inner } = draft as Alternative
      const option = field.options[at]
      if (option === undefined) return nothing
      return into(found, valueOf({ ...option, nullable: field.nullable }, inner, required, path))
    }
  }
}

function absent(field: Field, required: boolean, wrong: Wrong): unknown {
  if (!required) return nothing
  return field.nullable ? null : wrong("Needed")
}

function into(found: Problem[], inner: { value: unknown; problems: Problem[] }): unknown {
  found.push(...inner.problems)
  return inner.value
}

function list(
  field: Field & { kind: "list" }, draft: Draft[], required: boolean, path: Path, wrong: Wrong, found: Problem[],
): unknown {
  if (draft.length === 0 && !required) return nothing
  const { minItems = 0, maxItems = Infinity } = field.schema
  if (draft.length < minItems) return wrong(`At least ${minItems} of them`)
  if (draft.length > maxItems) return wrong(`At most ${maxItems} of them`)
  const item = field.item()
  return draft.map((each, at) => into(found, valueOf(item, each, true, below(path, at))))
}

function object(
  field: Field & { kind: "object" }, draft: Record<string, Draft>, path: Path, found: Problem[],
): unknown {
  const value: [string, unknown][] = field.members.map(({ name, required, field: make }) => [
    name,
    into(found, valueOf(make(), draft[name] ?? null, required, below(path, name))),
  ])
  return Object.fromEntries(value.filter(([, each]) => each !== nothing))
}

export function below(path: Path, step: string | number): Path {
  return path === "" ? String(step) : `${path}.${step}`
}

function textProblem({ minLength = 0, maxLength = Infinity, pattern }: Schema, text: string, wrong: Wrong) {
  const { length } = Array.from(text) // JSON Schema counts characters
  if (length < minLength) return wrong(`At least ${minLength} characters`)
  if (length > maxLength) return wrong(`At most ${maxLength} characters, and this has ${length}`)
  if (pattern !== undefined && !matches(pattern, text)) return wrong(`Must match ${pattern}`)
  return null
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text)
  } catch {
    return true // a pattern that a browser cannot read is the server's to check
  }
}

function number(schema: Schema, integer: boolean, text: string, wrong: Wrong): unknown {
  const value = Number(text)
  if (text.trim() === "" || !Number.isFinite(value)) return wrong("A number, as in 0.5")
  if (integer && !Number.isInteger(value)) return wrong("A whole number")
  if (integer && !Number.isSafeInteger(value)) return wrong("Too large for a browser to send exactly")
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (minimum !== undefined && value < minimum) return wrong(`At least ${minimum}`)
  if (maximum !== undefined && value > maximum) return wrong(`At most ${maximum}`)
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return wrong(`More than ${exclusiveMinimum}`)
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return wrong(`Less than ${exclusiveMaximum}`)
  return value
}

function parsed(text: string, wrong: Wrong): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (thrown) {
    return wrong(thrown instanceof Error ? `No JSON: ${thrown.message}` : "No JSON")
  }
}

/** A draft that was kept as JSON, where it still fits the field; else an empty one. */
export function revived(field: Field, kept: unknown, required: boolean): Draft {
  const empty = emptyDraft(field, required)
  switch (field.kind) {
    case "text":
    case "number":
    case "json":
      return typeof kept === "string" ? kept : empty
    case "choice":
      return field.values.some((value) => JSON.stringify(value) === kept) ? String(kept) : empty
    case "boolean":
      if (typeof empty === "boolean") return typeof kept === "boolean" ? kept : empty
      return kept === "true" || kept === "false" ? kept : empty
    case "list":
      return Array.isArray(kept) ? kept.map((each) => revived(field.item(), each, true)) : empty
    case "object": {
      if (!isRecord(kept)) return empty
      return Object.fromEntries(
        field.members.map(({ name, required: needed, field: make }) => [name, revived(make(), kept[name], needed)]),
      )
    }
    case "union": {
      const at = isRecord(kept) ? kept["@at"] : undefined
      const option = typeof at === "number" ? field.options[at] : undefined
      if (option === undefined || !isRecord(kept)) return empty
      return new Alternative(at as number, revived(option, kept["draft"], required))
    }
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** What a server has found wrong with the input, which it says with the paths that we have too. */
export function problemsIn(message: string): Problem[] {
  return message.split(/; (?=input\b)/).flatMap((part) => {
    const [, path, said] = /^(input[^:\s]*): (.+)$/s.exec(part) ?? []
    return path === undefined || said === undefined ? [] : [{ path, message: said }]
  })
}
