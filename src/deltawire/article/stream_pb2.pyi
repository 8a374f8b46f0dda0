from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class UserRequest(_message.Message):
    __slots__ = ("prompt",)
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    prompt: str
    def __init__(self, prompt: _Optional[str] = ...) -> None: ...

class LlmResponse(_message.Message):
    __slots__ = ("llm_content",)
    LLM_CONTENT_FIELD_NUMBER: _ClassVar[int]
    llm_content: str
    def __init__(self, llm_content: _Optional[str] = ...) -> None: ...
