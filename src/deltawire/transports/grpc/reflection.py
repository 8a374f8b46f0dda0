"""``grpc.reflection.v1alpha.ServerReflection``: what can be called here, for callers without stubs."""

from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha.reflection import SERVICE_NAME, aio
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

SERVICE: str = SERVICE_NAME


def methods(services: Iterable[str]) -> "dict[str, grpc.RpcMethodHandler[Any, Any]]":
    servicer: Any = aio.ReflectionServicer(services)
    codec = (_request, ServerReflectionResponse.SerializeToString)
    return {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(servicer.ServerReflectionInfo, *codec)}


def _request(body: bytes) -> ServerReflectionRequest:
    """What is no message asks for nothing, which is answered as wrong: an exception would only be one in the log."""
    try:
        return ServerReflectionRequest.FromString(body)
    except DecodeError:
        return ServerReflectionRequest()
