// What a run takes and what happens in it, as docs/contract.md has it.

export interface Settings {
  readonly max_tokens?: number
  readonly temperature?: number
  readonly seed?: number
}

/** The body of a call. */
export interface RunRequest {
  readonly input: unknown
  readonly user?: string
  readonly settings?: Settings
  /** In seconds. */
  readonly timeout?: number
}

export type FinishReason = "stop" | "length" | "content_filter" | "refusal" | "unknown"

export interface Usage {
  readonly input_tokens: number
  readonly output_tokens: number
}

/** Comes with the first content. Plain text and the article's wires have no such event. */
export interface Started {
  readonly type: "started"
  readonly run_id: string
  readonly function: string
  readonly variant: string | null
  readonly model: string
  readonly max_tokens: number | null
  /** In seconds. */
  readonly timeout: number
}

export interface Text {
  readonly type: "text"
  readonly text: string
}

export interface Reasoning {
  readonly type: "reasoning"
  readonly text: string
}

/** The end of a run that succeeded. What a wire does not tell is `null`. */
export interface Finished {
  readonly type: "finished"
  readonly run_id: string | null
  /** The validated value of a typed function; `null` where the pieces are the answer. */
  readonly output: unknown
  readonly finish_reason: FinishReason | null
  readonly usage: Usage | null
  readonly attempts: number | null
}

/** The end of a run that failed. */
export interface RunError {
  readonly type: "error"
  /** One of the canonical gRPC codes, in Connect's spelling. */
  readonly code: string
  /** One of the contract's list; or what the page itself has to say: `unreachable`, `cut`, `stopped`. */
  readonly reason: string
  readonly message: string
  readonly run_id: string | null
  /** In seconds. */
  readonly retry_after?: number
  readonly partial: boolean
}

export type Event = Started | Text | Reasoning | Finished | RunError
