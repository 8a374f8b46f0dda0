// What the clients of RPC share: the call as a message, its events, and the error that a status is.

import { create } from "@bufbuild/protobuf"
import type { Duration } from "@bufbuild/protobuf/wkt"
import type { Event, FinishReason, RunError } from "../api/events.ts"
import { RunRequestSchema, type Event as Message, type RunRequest } from "../stubs/deltawire/v1/functions_pb.ts"
import type { ErrorInfo, RetryInfo } from "../stubs/google/rpc/error_details_pb.ts"
import type { Call } from "./wire.ts"

export function runMessage({ function: name, input, user, settings, timeout }: Call): RunRequest {
  return create(RunRequestSchema, {
    function: name,
    inputJson: JSON.stringify(input),
    ...(user !== undefined && { user }),
    ...(timeout !== undefined && { timeout }),
    ...(settings !== undefined && {
      settings: {
        ...(settings.max_tokens !== undefined && { maxTokens: settings.max_tokens }),
        ...(settings.temperature !== undefined && { temperature: settings.temperature }),
        ...(settings.seed !== undefined && { seed: BigInt(settings.seed) }),
      },
    }),
  })
}

/** Nothing for a message that only says that the call is alive. */
export function eventOf({ event }: Message): Event | null {
  switch (event.case) {
    case "started": {
      const { runId, variant, model, maxTokens, timeout } = event.value
      const named = { function: event.value.function, variant: variant ?? null, model }
      return { type: "started", run_id: runId, ...named, max_tokens: maxTokens ?? null, timeout }
    }
    case "text":
    case "reasoning":
      return { type: event.case, text: event.value }
    case "finished": {
      const { runId, outputJson, finishReason, usage, attempts } = event.value
      return {
        type: "finished",
        run_id: runId,
        output: outputJson === undefined ? null : JSON.parse(outputJson),
        finish_reason: finishReason as FinishReason,
        usage: usage ? { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } : null,
        attempts,
      }
    }
    case undefined:
      return null
  }
}

/** What the details of a status say. A status without any is none of deltawire's. */
export function errorOf(
  code: string, message: string, info: ErrorInfo | undefined, retry: RetryInfo | undefined,
): RunError {
  return {
    type: "error",
    code,
    reason: info?.reason ?? code,
    message,
    run_id: info?.metadata["run_id"] ?? null,
    ...(retry?.retryDelay && { retry_after: seconds(retry.retryDelay) }),
    partial: info?.metadata["partial"] === "true",
  }
}

function seconds({ seconds, nanos }: Duration): number {
  return Number(seconds) + nanos / 1e9
}
