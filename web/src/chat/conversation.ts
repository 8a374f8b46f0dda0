// A function that takes messages, and a conversation as its input.

import type { FunctionInfo } from "../api/functions.ts"
import type { Schema } from "../api/schema.ts"
import type { Answer } from "../answer/state.ts"
import { resolved } from "../form/field.ts"

/** Which parameters a conversation goes into. */
export interface Parameters {
  /** What was said before; all of it where there is no `message`. */
  readonly history: string
  /** What the user says now. */
  readonly message: string | null
}

export interface Turn {
  readonly said: string
  readonly answer: Answer
}

export interface Message {
  readonly role: "user" | "assistant"
  readonly content: string
}

/** `null` for a function that takes no messages. */
export function conversationOf({ input }: FunctionInfo): Parameters | null {
  const definitions = input.$defs ?? {}
  const properties = Object.entries(input.properties ?? {})
  const history = properties.find(([, schema]) => isMessages(schema, definitions))?.[0]
  if (history === undefined) return null
  const texts = properties.filter(([name, { type }]) => type === "string" && input.required?.includes(name))
  const [message] = texts
  if (texts.length > 1) return null
  return { history, message: message?.[0] ?? null }
}

function isMessages(schema: Schema, definitions: Readonly<Record<string, Schema>>): boolean {
  if (schema.type !== "array" || schema.items === undefined) return false
  const { role, content } = resolved(schema.items, definitions).schema.properties ?? {}
  return content?.type === "string" && role?.enum?.includes("assistant") === true
}

/** Turns of which nothing came are not part of the conversation. */
export function messagesOf(turns: readonly Turn[]): Message[] {
  return turns
    .filter(({ answer }) => answer.text !== "")
    .flatMap(({ said, answer }) => [
      { role: "user", content: said },
      { role: "assistant", content: answer.text },
    ])
}

/** The members of the input that say this. */
export function inputOf(
  { history, message }: Parameters, turns: readonly Turn[], said: string,
): Record<string, unknown> {
  const before = messagesOf(turns)
  if (message === null) return { [history]: [...before, { role: "user", content: said }] }
  return { [history]: before, [message]: said }
}
