// The page's calls, for whoever drives the browser: `begin` starts one, `seen` waits for pieces, `leave` aborts it,
// `outcome` waits for its end and tells what came, with the time of each piece by the page's clock.

import { connect, connectGrpcWeb, connectJson } from "./connect_web.js"
import { grpcWebBinary, grpcWebText } from "./google_grpc_web.js"
import { sse } from "./sse.js"
import { websocket } from "./websocket.js"

const clients = { connect, connectGrpcWeb, connectJson, grpcWebBinary, grpcWebText, sse, websocket }

class Call {
  came = { pieces: [], finish: null, runId: null, error: null }
  #leaving = new AbortController()
  #waiting = []

  constructor(client, url, request) {
    const saw = {
      piece: (text) => {
        this.came.pieces.push({ text, at: performance.now() })
        this.#waiting = this.#waiting.filter(({ count, resolve }) => this.came.pieces.length < count || resolve())
      },
      runId: (id) => { this.came.runId = id },
      finished: (finish) => { this.came.finish = finish },
    }
    this.outcome = client(url, request, saw, this.#leaving.signal)
      .catch((error) => { this.came.error = error instanceof Error ? { thrown: String(error) } : error })
      .then(() => this.came)
  }

  seen(count) {
    return new Promise((resolve) => this.came.pieces.length < count ? this.#waiting.push({ count, resolve }) : resolve())
  }

  leave() {
    this.#leaving.abort()
  }
}

const calls = []

window.begin = (client, url, request) => calls.push(new Call(clients[client], url, request)) - 1
window.seen = (number, count) => calls[number].seen(count)
window.leave = (number) => calls[number].leave()
window.outcome = (number) => calls[number].outcome
