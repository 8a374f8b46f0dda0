// Whether all answers of a race are equal.

import { characters, type State } from "./track.ts"

export interface Answer {
  readonly name: string
  readonly state: State
  readonly text: string
  /** Whether it came over a wire on which CR becomes LF, as event streams of raw text have it. */
  readonly plainLines: boolean
}

export interface Verdict {
  readonly kind: "equal" | "different" | "incomplete"
  readonly words: string
}

/** `null` while lanes wait or run. */
export function verdict(answers: readonly Answer[]): Verdict | null {
  if (answers.some(({ state }) => state === "waiting" || state === "running")) return null
  const finished = answers.filter(({ state }) => state === "finished")
  const failed = answers.length - finished.length
  const reference = finished.find(({ plainLines }) => !plainLines) ?? finished[0]
  if (reference === undefined) return { kind: "incomplete", words: "No lane finished." }
  const others = finished.filter((answer) => !same(answer, reference))
  if (others.length > 0) return { kind: "different", words: differing(others, reference, finished.length) }
  if (finished.length === 1) return { kind: "incomplete", words: "Only one lane finished: there is nothing to compare." }
  const equal = `All ${finished.length} answers are equal: ${count(reference.text)}`
  if (failed > 0) return { kind: "incomplete", words: `${failed} of ${answers.length} lanes did not finish. ${equal}` }
  return { kind: "equal", words: equal }
}

const lines = (text: string): string => text.replace(/\r\n?/g, "\n")

function same(answer: Answer, reference: Answer): boolean {
  return answer.text === reference.text || (answer.plainLines && answer.text === lines(reference.text))
}

function count(text: string): string {
  const length = characters(text)
  return length === 1 ? "1 character." : `${length.toLocaleString("en")} characters, each one the same on every wire.`
}

function differing(others: readonly Answer[], reference: Answer, finished: number): string {
  const [first] = others as readonly [Answer, ...Answer[]]
  const names = others.map(({ name }) => name).join(", ")
  const place = firstDifference(first.text, first.plainLines ? lines(reference.text) : reference.text)
  return (
    `The answers differ: ${others.length} of ${finished} (${names}) from that of ${reference.name}, ` +
    `${first.name} from character ${(place + 1).toLocaleString("en")} on.`
  )
}

function firstDifference(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  let index = 0
  while (index < length && one[index] === other[index]) index += 1
  return characters(one.slice(0, index))
}
