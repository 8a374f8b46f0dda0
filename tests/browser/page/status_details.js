// What `grpc-status-details-bin` says of a failure.

import { fromBinary } from "@bufbuild/protobuf"
import { base64Decode } from "@bufbuild/protobuf/wire"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { ErrorInfoSchema } from "./stubs/google/rpc/error_details_pb.js"
import { StatusSchema } from "./stubs/google/rpc/status_pb.js"

export function statusDetails(header) {
  if (!header) return {}
  const { details } = fromBinary(StatusSchema, base64Decode(header))
  return errorInfo(details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find(Boolean))
}

export function errorInfo(info) {
  return info ? { reason: info.reason, about: info.metadata } : {}
}
