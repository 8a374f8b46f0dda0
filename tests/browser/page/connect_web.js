// Connect's client: its own protocol in JSON and in binary, and gRPC-Web, all over fetch.

import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web"
import { Functions } from "./stubs/deltawire/v1/functions_pb.js"
import { ErrorInfoSchema } from "./stubs/google/rpc/error_details_pb.js"
import { errorInfo } from "./status_details.js"

const call = (transport) => async (url, { name, input, timeout }, saw, signal) => {
  const client = createClient(Functions, transport(url))
  const options = {
    signal,
    timeoutMs: timeout && timeout * 1000,
    onHeader: (headers) => saw.runId(headers.get("deltawire-run-id")),
  }
  try {
    for await (const { event } of client.stream({ function: name, inputJson: JSON.stringify(input) }, options)) {
      if (event.case === "text") saw.piece(event.value)
      if (event.case === "finished") saw.finished(event.value.finishReason)
    }
  } catch (thrown) {
    const error = ConnectError.from(thrown)
    // Where a gRPC-Web reply is nothing but a failure, its headers come only with the error.
    if (error.metadata.has("deltawire-run-id")) saw.runId(error.metadata.get("deltawire-run-id"))
    const [info] = error.findDetails(ErrorInfoSchema)
    throw { code: Code[error.code].replace(/\B[A-Z]/g, "_$&").toLowerCase(), message: error.rawMessage, ...errorInfo(info) }
  }
}

export const connect = call((baseUrl) => createConnectTransport({ baseUrl, useBinaryFormat: true }))
export const connectJson = call((baseUrl) => createConnectTransport({ baseUrl, useBinaryFormat: false }))
export const connectGrpcWeb = call((baseUrl) => createGrpcWebTransport({ baseUrl }))
