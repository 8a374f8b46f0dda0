// What a caller may choose besides the input, as a form of its own.

import type { Schema } from "../api/schema.ts"
import type { Call } from "../wires/wire.ts"
import { fieldOf, type Field } from "./field.ts"

const SCHEMA: Schema = {
  type: "object",
  properties: {
    max_tokens: { type: "integer", minimum: 1, description: "the longest answer" },
    temperature: { type: "number", minimum: 0, maximum: 2 },
    seed: { type: "integer", minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    timeout: { type: "number", exclusiveMinimum: 0, description: "in seconds" },
    user: { type: "string", description: "chooses the variant" },
  },
}

export const settingsField: Field & { kind: "object" } = objectField(SCHEMA)

/** The form's values as members of a call. */
export function settingsOf(value: Readonly<Record<string, unknown>>): Pick<Call, "settings" | "timeout" | "user"> {
  const { timeout, user, ...settings } = value
  return {
    ...(typeof timeout === "number" && { timeout }),
    ...(typeof user === "string" && { user }),
    ...(Object.keys(settings).length > 0 && { settings }),
  }
}

/** Of a schema that is known to be an object's, as that of every input is. */
export function objectField(schema: Schema): Field & { kind: "object" } {
  const field = fieldOf(schema)
  return field.kind === "object" ? field : { ...field, kind: "object", schema, members: [] }
}
