// Google's client. In its text mode it reads an XMLHttpRequest as it grows; in its binary mode it has the answer when the
// whole of it is there. Its messages are those that protoc-gen-es makes.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { GrpcWebClientBase, MethodDescriptor, MethodType, StatusCode } from "grpc-web"
import { EventSchema, RunRequestSchema } from "./stubs/deltawire/v1/functions_pb.js"
import { statusDetails } from "./status_details.js"

const stream = new MethodDescriptor(
  "/deltawire.v1.Functions/Stream", MethodType.SERVER_STREAMING, Object, Object,
  (request) => toBinary(RunRequestSchema, request), (bytes) => fromBinary(EventSchema, bytes),
)

const nameOf = (code) => Object.keys(StatusCode).find((name) => StatusCode[name] === code).toLowerCase()

const call = (format) => (url, { name, input, timeout }, saw, signal) => new Promise((resolve, reject) => {
  const request = create(RunRequestSchema, { function: name, inputJson: JSON.stringify(input) })
  const metadata = timeout ? { deadline: String(Date.now() + timeout * 1000) } : {}
  const path = url + stream.getName()
  const reply = new GrpcWebClientBase({ format }).serverStreaming(path, request, metadata, stream)
  reply.on("data", ({ event }) => {
    if (event.case === "text") saw.piece(event.value)
    if (event.case === "finished") saw.finished(event.value.finishReason)
  })
  let failure = null
  reply.on("error", ({ code, message, metadata }) => {
    failure ??= { code: nameOf(code), message, ...statusDetails(metadata["grpc-status-details-bin"]) }
  })
  // The metadata come when the reply is complete: after an error that stands in its body, and right before one that stands
  // in its headers.
  reply.on("metadata", (metadata) => {
    saw.runId(metadata["deltawire-run-id"] ?? null)
    setTimeout(() => failure ? reject(failure) : resolve())
  })
  signal.addEventListener("abort", () => { reply.cancel(); resolve() })
})

export const grpcWebText = call("text")
export const grpcWebBinary = call("binary")
