// What a form asks for: a schema as a field, with its references followed.

import type { Schema } from "../api/schema.ts"

interface About {
  readonly label: string
  readonly description: string
  /** The value that holds when nothing is given, in words; `null` where there is none to tell. */
  readonly usual: string | null
  /** Whether the value may be `null`. */
  readonly nullable: boolean
}

export interface Member {
  readonly name: string
  readonly required: boolean
  readonly field: () => Field
}

export type Field = About &
  (
    | { readonly kind: "text"; readonly schema: Schema }
    | { readonly kind: "number"; readonly schema: Schema; readonly integer: boolean }
    | { readonly kind: "choice"; readonly values: readonly unknown[] }
    | { readonly kind: "boolean"; readonly initially: boolean }
    | { readonly kind: "list"; readonly schema: Schema; readonly item: () => Field }
    | { readonly kind: "object"; readonly schema: Schema; readonly members: readonly Member[] }
    | { readonly kind: "union"; readonly options: readonly Field[] }
    /** Whatever has no field of its own is written as JSON. */
    | { readonly kind: "json" }
  )

type Definitions = Readonly<Record<string, Schema>>

/** The field for a function's whole input, which is an object. */
export function fieldOf(schema: Schema, definitions: Definitions = schema.$defs ?? {}, name = ""): Field {
  const { schema: whole, nullable } = resolved(schema, definitions)
  const about: About = {
    label: name.replaceAll("_", " ") || (whole.title ?? ""),
    description: schema.description ?? (name ? (whole.description ?? "") : ""),
    usual: schema.default === undefined || schema.default === null ? null : JSON.stringify(schema.default),
    nullable,
  }
  if (whole.const !== undefined) return { ...about, kind: "choice", values: [whole.const] }
  if (whole.enum !== undefined) {
    return { ...about, kind: "choice", values: whole.enum.filter((value) => value !== null) }
  }
  const options = whole.anyOf ?? whole.oneOf
  if (options !== undefined) {
    const fields = options.map((option) => fieldOf(option, definitions))
    const named = fields.map((field) => ({ ...field, label: field.label || words(field) }))
    return { ...about, kind: "union", options: named }
  }
  switch (whole.type) {
    case "string":
      return { ...about, kind: "text", schema: whole }
    case "integer":
    case "number":
      return { ...about, kind: "number", schema: whole, integer: whole.type === "integer" }
    case "boolean":
      return { ...about, kind: "boolean", initially: schema.default === true }
    case "array":
      if (whole.items === undefined || whole.prefixItems !== undefined) return { ...about, kind: "json" }
      return { ...about, kind: "list", schema: whole, item: () => fieldOf(whole.items ?? {}, definitions) }
    case "object":
      if (whole.properties === undefined) return { ...about, kind: "json" }
      return { ...about, kind: "object", schema: whole, members: membersOf(whole, definitions) }
    default:
      return { ...about, kind: "json" }
  }
}

function membersOf({ properties = {}, required = [] }: Schema, definitions: Definitions): Member[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    field: () => fieldOf(schema, definitions, name),
  }))
}

/** Behind its reference, and without a `null` beside one other choice. */
export function resolved(schema: Schema, definitions: Definitions): { schema: Schema; nullable: boolean } {
  let whole = schema
  let nullable = false
  for (let steps = 0; steps < 32; steps++) {
    const name = whole.$ref?.replace(/^#\/\$defs\//, "")
    const named = name === undefined ? undefined : definitions[name]
    if (named !== undefined) {
      whole = named
      continue
    }
    if (whole.allOf?.length === 1 && whole.allOf[0] !== undefined) {
      whole = whole.allOf[0]
      continue
    }
    const others = whole.anyOf?.filter(({ type }) => type !== "null")
    if (others === undefined || others.length === whole.anyOf?.length) break
    nullable = true
    const [only] = others
    whole = others.length === 1 && only !== undefined ? only : { ...whole, anyOf: others }
  }
  return { schema: whole, nullable }
}

function words(field: Field): string {
  return field.kind === "number" && field.integer ? "whole number" : field.kind
}
