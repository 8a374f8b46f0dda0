// Which lanes of a race run at once. A browser opens six HTTP/1.1 connections to a host, and what comes after them waits
// for one of them: five leave one for the rest of the page. A small model has place for few calls, so that lanes on a real
// model would wait for each other there: they run one after another.

export const HTTP_AT_ONCE = 5

interface Taking {
  readonly takes: "http" | "websocket"
}

interface Queue<Lane> {
  readonly lanes: readonly Lane[]
  readonly atOnce: number
}

function queues<Lane extends Taking>(lanes: readonly Lane[], together: boolean): readonly Queue<Lane>[] {
  if (!together) return [{ lanes, atOnce: 1 }]
  const http = lanes.filter(({ takes }) => takes === "http")
  const websockets = lanes.filter(({ takes }) => takes === "websocket")
  return [{ lanes: http, atOnce: HTTP_AT_ONCE }, { lanes: websockets, atOnce: websockets.length }]
}

/** Run all lanes, in their order, until all have ended; none is begun after the signal. `together` lets many run at
 * once. */
export async function runAll<Lane extends Taking>(
  lanes: readonly Lane[], together: boolean, signal: AbortSignal, run: (lane: Lane) => Promise<void>,
): Promise<void> {
  const one = async (waiting: Lane[]): Promise<void> => {
    for (let lane = waiting.shift(); lane !== undefined && !signal.aborted; lane = waiting.shift()) await run(lane)
  }
  const runners = queues(lanes, together).flatMap(({ lanes, atOnce }) => {
    const waiting = [...lanes]
    return Array.from({ length: atOnce }, () => one(waiting))
  })
  await Promise.all(runners)
}
