// The call that a form and a conversation make.

import { promptParameter, type FunctionInfo } from "../api/functions.ts"
import { inputOf, type Parameters, type Turn } from "../chat/conversation.ts"
import { below, valueOf, type Draft, type Problem } from "../form/draft.ts"
import type { Field } from "../form/field.ts"
import { settingsField, settingsOf } from "../form/settings.ts"
import type { Call } from "../wires/wire.ts"

export interface Drafts {
  readonly input: Draft
  readonly settings: Draft
}

export interface Made {
  /** What the form says, also where some of it is wrong. */
  readonly call: Call
  readonly problems: readonly Problem[]
}

/** The paths below which the problems of the form's parts are; the server says `input` too. */
export const INPUT = "input"
export const SETTINGS = "settings"

/** What the user says where the function has no text for it, but messages only. */
export const LINE = "message"

export function callOf(info: FunctionInfo, field: Field, drafts: Drafts): Made {
  const input = valueOf(field, drafts.input, true, INPUT)
  const settings = valueOf(settingsField, drafts.settings, true, SETTINGS)
  return {
    call: made(info, recordOf(input.value), recordOf(settings.value)),
    problems: [...input.problems, ...settings.problems],
  }
}

/** The same call as the next turn of a conversation in which the user says these words. */
export function turnOf(
  made: Made, info: FunctionInfo, parameters: Parameters, turns: readonly Turn[], words: string,
): Made {
  const input = { ...recordOf(made.call.input), ...inputOf(parameters, turns, words) }
  const history = below(INPUT, parameters.history)
  // What is written into the history by hand is not part of the conversation.
  const others = made.problems.filter(({ path }) => path !== history && !path.startsWith(`${history}.`))
  const missing = parameters.message === null && words === "" ? [{ path: below(INPUT, LINE), message: "Needed" }] : []
  return { call: { ...made.call, input, ...promptOf(info, input) }, problems: [...missing, ...others] }
}

function made(info: FunctionInfo, input: Record<string, unknown>, settings: Record<string, unknown>): Call {
  return { function: info.name, input, ...promptOf(info, input), ...settingsOf(settings) }
}

function promptOf(info: FunctionInfo, input: Record<string, unknown>): { prompt?: string } {
  const prompt = input[promptParameter(info) ?? ""]
  return typeof prompt === "string" ? { prompt } : {}
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {}
}
