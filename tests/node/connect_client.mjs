// Calls a server with the official Connect clients for Node, whose stubs are built from descriptors.
//
//   node connect_client.mjs URL DESCRIPTORS '[{"transport": "connect", "procedure": "stream", "request": {…}}, …]'
//
// Prints for each call, one after another, a line of JSON that says what the client made of it.

import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

const [url, descriptors, calls] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
const common = { baseUrl: url, httpVersion: "1.1" };
const transports = {
  connect: createConnectTransport({ ...common, useBinaryFormat: true }),
  connect_json: createConnectTransport({ ...common, useBinaryFormat: false }),
  grpc_web: createGrpcWebTransport({ ...common, useBinaryFormat: true }),
};
const functions = registry.getService("deltawire.v1.Functions");
const article = registry.getService("stream.ResponseStreamingService");

function errorOf(thrown) {
  const error = ConnectError.from(thrown);
  const [info] = error.findDetails(registry.getMessage("google.rpc.ErrorInfo"));
  const [retry] = error.findDetails(registry.getMessage("google.rpc.RetryInfo"));
  return {
    code: Code[error.code],
    message: error.rawMessage,
    reason: info?.reason,
    partial: info?.metadata.partial,
    runId: info?.metadata.run_id,
    retryDelay: retry && toJson(registry.getMessage("google.rpc.RetryInfo"), retry).retryDelay,
  };
}

async function made({ transport, procedure, request, timeoutMs, stop }) {
  const came = {};
  const options = { timeoutMs, onHeader: (headers) => (came.header = headers.get("deltawire-run-id")) };
  const client = createClient(procedure === "article" ? article : functions, transports[transport]);
  try {
    switch (procedure) {
      case "list":
        came.names = (await client.list({}, options)).functions.map(({ name }) => name);
        break;
      case "invoke":
        came.finished = toJson(registry.getMessage("deltawire.v1.Finished"), await client.invoke(request, options));
        break;
      case "article":
        came.pieces = [];
        for await (const { llmContent } of client.stream(request, options)) came.pieces.push(llmContent);
        break;
      case "stream":
        came.events = [];
        for await (const { event } of client.stream(request, options)) {
          came.events.push([event.case ?? "", typeof event.value === "string" ? event.value : ""]);
          if (event.case === "finished") came.reason = event.value.finishReason;
          if (stop && event.case === "text") break;
        }
    }
  } catch (thrown) {
    came.error = errorOf(thrown);
    came.header ??= thrown.metadata?.get("deltawire-run-id");
  }
  return came;
}

for (const call of JSON.parse(calls)) console.log(JSON.stringify(await made(call)));
