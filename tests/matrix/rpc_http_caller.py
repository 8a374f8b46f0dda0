"""Connect and gRPC-Web, called with ``httpx``; what comes is read with protobuf's own library."""

import base64
from collections.abc import Iterator

import httpx
from google.protobuf import json_format

from deltawire.v1 import functions_pb2 as pb
from tests.matrix import rpc
from tests.matrix.http_caller import HttpCaller
from tests.matrix.notation import Call
from tests.matrix.reply import Reply
from tests.matrix.transports import MEDIA, UNARY, WEB

_CODING = {"grpc_web": "grpc-encoding", "grpc_web_text": "grpc-encoding", "connect_invoke": "content-encoding"}
_COMPRESSED = 0x01


class RpcHttpCaller(HttpCaller):
    def request(self, call: Call, trace: object = None) -> httpx.Request:
        headers = {"content-type": MEDIA[self.transport], **self._deadline(call)}
        if self.transport.startswith("connect"):
            headers["connect-protocol-version"] = "1"
        else:
            headers["x-grpc-web"] = "1"
        more = dict(call.headers)
        if "content-encoding" in more:  # as the protocol has it
            more[_CODING.get(self.transport, "connect-content-encoding")] = more.pop("content-encoding")
        body = self.body(call)
        return self.post(
            call, rpc.SERVICE + ("Invoke" if self.transport in UNARY else "Stream"), body, {**headers, **more}, trace
        )

    def body(self, call: Call) -> bytes:
        as_json = call.rpc_request()
        is_json = self.transport in ("connect_json", "connect_invoke")
        message = call.coded(as_json.encode() if is_json else rpc.run_request(as_json).SerializeToString())
        if self.transport in UNARY:
            return message
        flags = _COMPRESSED if call.coding else 0
        framed = bytes([flags]) + len(message).to_bytes(4) + message
        return base64.b64encode(framed) if self.transport == "grpc_web_text" else framed

    def _deadline(self, call: Call) -> dict[str, str]:
        if call.deadline is None:
            return {}
        milliseconds = f"{call.deadline * 1000:.0f}"
        return {"grpc-timeout": milliseconds + "m"} if self.transport in WEB else {"connect-timeout-ms": milliseconds}

    def reply(self, head: str, body: bytes, *, complete: bool) -> Reply:
        lines = head.splitlines()
        fields = [line for line in lines if line.startswith("grpc-")]
        shown = [*(line for line in lines if line not in fields), *rpc.trailers(map(rpc.trailer, fields))]
        return Reply("".join(line + "\n" for line in shown), body, complete, self._content(head, body))

    def shown(self, body: bytes) -> bytes:
        return "\n".join(self._frames(body)).encode()

    def _content(self, head: str, body: bytes) -> str | None:
        """The body as the page writes it; none where it is a problem, as all that is refused before it is known what is
        called."""
        if f"content-type: {MEDIA[self.transport]}" not in head.splitlines():
            return None
        if self.transport in UNARY:
            text = body.decode()
            return text if " 200 " in head else rpc.connect_error(text)
        left = body[len(body) // 4 * 4 :] if self.transport == "grpc_web_text" else b""
        return "\n".join([*self._frames(body, whole=True), *([f"cut base64: {left}"] if left else [])])

    def _frames(self, body: bytes, *, whole: bool = False) -> Iterator[str]:
        for flags, message in rpc.frames(rpc.from_base64(body) if self.transport == "grpc_web_text" else body):
            match flags:
                case rpc.LEFT:
                    if message and whole:
                        yield f"cut: {message!r}"
                case 0x00 if self.transport == "connect_json":
                    json_format.Parse(message, pb.Event())
                    yield f"00 {message.decode()}"
                case 0x00:
                    yield f"00 {rpc.message(pb.Event, message)}"
                case 0x02 if message.startswith(b'{"error":'):
                    yield f'02 {{"error":{rpc.connect_error(message.decode()[9:-1])}}}'
                case 0x80:
                    assert message.endswith(b"\r\n")
                    trailers = map(rpc.trailer, message.decode().removesuffix("\r\n").split("\r\n"))
                    yield from (f"80 {line}" for line in rpc.trailers(trailers))
                case _:
                    yield f"{flags:02x} {message.decode(errors='backslashreplace')}"
