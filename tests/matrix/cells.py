"""The cells of the matrix: each row of the page's tables on each transport that its section shows a block for."""

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from itertools import takewhile
from math import ceil

from deltawire.domain.errors import Code
from deltawire.transports.status import CONNECT_HTTP_STATUS, GRPC_STATUS
from tests.matrix.document import PAGE, Block, Section, Table, sections
from tests.matrix.notation import Call, Script
from tests.matrix.transports import GROUPS, MEDIA, RPC, TRANSPORTS, UNARY

_PLACE = re.compile(r'"<(\w+)>"|<(\w[\w ]*)>')
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
_LINES = ("text/event-stream", "application/x-ndjson")
_PLACES = {
    "invoke": ("/invoke", "OPTIONS, POST"),
    "chat": ("/v1/chat/completions", "OPTIONS, POST"),
    "chat_stream": ("/v1/chat/completions", "OPTIONS, POST"),
    **{rpc: (f"/deltawire.v1.Functions/{'Invoke' if rpc in UNARY else 'Stream'}", "OPTIONS, POST") for rpc in RPC},
}
_CHAT_SHAPE = '{"model": "…", "messages": […]}'
_SHAPES = {
    "invoke": '{"type": "…", "input": …}',
    "chat": _CHAT_SHAPE,
    "chat_stream": _CHAT_SHAPE,
    "ws": '{"type": "run", "id": "…", "function": "…", "input": …} or {"type": "cancel", "id": "…"}',
}
_FINISH = {"stop": '"stop"', "refusal": '"stop"', "length": '"length"', "content_filter": '"content_filter"'}
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
OPEN = {
    "run_id": "<run_id>",
    "heartbeats": "<heartbeats>",
    "length": "<length>",
    "created": "<created>",
    "etag": "<etag>",
    "wait": "<wait>",
}
"""What only the reply can tell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One outcome on one transport."""

    section: str
    outcome: str
    transport: str
    row: dict[str, str]
    expected: str
    """What comes, as the page writes it: head, empty line, body; with ``OPEN`` places."""

    @property
    def id(self) -> str:
        return f"{self.outcome} [{self.transport}]".replace(" ", "-")

    @property
    def hurried(self) -> bool:
        """Whether the server's hold must be short, or the time that it gives a body."""
        return "hold" in self.row["upstream"] or self.call().stalls

    @property
    def drains(self) -> bool:
        """Whether the server shuts down in it: it must be one of its own."""
        return self.call().drains

    @property
    def ends(self) -> bool:
        """Whether the server ends in the middle of it: many of them are played with one."""
        return self.call().ends

    @property
    def ill(self) -> bool:
        """Whether the model must have failed before: its server has a breaker, and is none of the others."""
        return self.call().ill

    @property
    def full(self) -> bool:
        """Whether the server's one place must be taken."""
        return self.call().full

    @property
    def reason(self) -> str | None:
        return self.row.get("reason")

    @property
    def outcome_logged(self) -> str:
        """What the log says of the run: its reason, or its finish reason."""
        return self.reason or self.row["finish_reason"]

    @property
    def after(self) -> bool:
        """Whether there was content before the end."""
        return bool(self.row["text"])

    @property
    def typed(self) -> bool:
        return self.row["typed"] == "yes"

    @property
    def finish_reason(self) -> str | None:
        """How the model ended its answer, where it did, in our words."""
        return self.script().finish_reason

    def script(self) -> Script:
        return Script.read(self.row["upstream"])

    def call(self) -> Call:
        return Call.read(self.row["function"], self.row["caller"])


EVERY = ""
Fragments = dict[str, dict[str, str]]


def _fragments(page: list[Section]) -> Fragments:
    """What returns in many blocks, by its name, and by the transports behind the name, or for ``EVERY`` one."""
    found: Fragments = {}
    for section in page:
        for block in section.blocks:
            if block.words.startswith("<"):
                name, _, transports = block.words.removeprefix("<").partition(">")
                found.setdefault(name, {}).update(dict.fromkeys(transports.split() or [EVERY], block.text))
    return found


class Contract:
    """The page, read."""

    def __init__(self, page: str) -> None:
        self.sections = sections(page)
        self._fragments = _fragments(self.sections)
        self.functions = self._table("function", "output", "what is special")
        self.reasons = self._table("reason", "code", "status", "again")
        self.impossible = self._table("reason", "when", "on", "why")
        self._function = {row["function"]: row for row in self.functions}
        self._reason = {row["reason"]: row for row in self.reasons}
        self.cells = [cell for section in self.sections for cell in self._cells(section)]

    def _table(self, *columns: str) -> list[dict[str, str]]:
        """The rows of the table that has these headings."""
        for section in self.sections:
            for table in section.tables:
                if table.rows and {*columns} <= {*table.rows[0]}:
                    return table.rows
        raise ValueError(f"the page has no table of {columns}")

    def _cells(self, section: Section) -> list[Cell]:
        """A table's rows belong to the blocks above it: those since the last blocks began."""
        found: list[Cell] = []
        blocks: list[Block] = []
        shown_in = ""
        for part in section.parts:
            if isinstance(part, Block):
                if shown_in:
                    blocks, shown_in = [], ""
                blocks.append(part)
            elif part.rows and "outcome" in part.rows[0]:
                shown_in = "a table"
                blocks = blocks or self._inherited(section)
                found += self._of_table(section.title, part, blocks)
        return found

    def _is_typed(self, function: str) -> bool:
        return function in self._function and self._function[function]["output"] != "text"

    def _inherited(self, section: Section) -> list[Block]:
        """A subsection without blocks shows how the section before it, from which it goes on, looks."""
        before = list(takewhile(lambda other: other is not section, self.sections))
        return next(other.blocks for other in reversed(before) if other.blocks)

    def _of_table(self, title: str, table: Table, blocks: list[Block]) -> list[Cell]:
        found: list[Cell] = []
        for row in table.rows:
            row = {"caller": "", "upstream": "", **row}
            typed = self._is_typed(row["function"])
            row |= {"typed": "yes" if typed else "no", "text": Script.read(row["upstream"]).text(typed=typed)}
            for block in blocks:
                for transport in block.words.split():
                    if transport not in TRANSPORTS:
                        raise ValueError(f"{title}: no transport is called {transport!r}")
                    if transport in on(row.get("on", "")):
                        expected = self._expected(block.text, row, transport)
                        found.append(Cell(title, row["outcome"], transport, row, expected))
        return found

    def _expected(self, block: str, row: dict[str, str], transport: str) -> str:
        filled = self._filled(block, self._values(row, transport))
        # Only in streams of lines does the last line end: a block of Markdown cannot show that it does not.
        if transport == "engine" or any(f"content-type: {media}" in filled for media in _LINES):
            return filled.replace("✂\n", "✂")
        head, separator, content = filled.partition("\n\n")
        return filled.replace("✂\n", "✂") if not separator else head + separator + _without_last_line_end(content)

    def _filled(self, template: str, values: dict[str, str | None]) -> str:
        def place(match: re.Match[str]) -> str:
            quoted, bare = match.groups()
            if bare in self._fragments:
                of = self._fragments[bare]
                fragment = of.get(str(values["transport"])) or of[EVERY]
                return self._filled(fragment, values).removesuffix("\n")
            name = quoted or bare
            if name in OPEN:
                return f'"{OPEN[name]}"' if quoted else OPEN[name]
            value = values[name]
            if value is None:
                raise KeyError(f"the outcome has no {name}")
            return json.dumps(value, ensure_ascii=False) if quoted else value

        def optional(match: re.Match[str]) -> str:
            names = [quoted or bare for quoted, bare in _PLACE.findall(match[1])]
            return match[1] if all(name in OPEN or values.get(name) is not None for name in names) else ""

        return _PLACE.sub(place, _OPTIONAL.sub(optional, template))

    def _values(self, row: dict[str, str], transport: str) -> dict[str, str | None]:
        function = self._function.get(row["function"], {})
        reason = {**self._reason.get(row.get("reason", ""), {})}
        if row.get("code"):
            reason["code"] = row["code"]
        call = Call.read(row["function"], row["caller"])
        retry_after = row.get("retry_after") or None
        path, allow = f"/v1/functions/{call.function}", "GET, HEAD, OPTIONS, POST"
        path, allow = _PLACES.get(transport, (path, allow))
        values: dict[str, str | None] = {
            "transport": transport,
            "function": row["function"],
            "variant": json.dumps(row.get("variant") or None),
            "model": row.get("model") or function.get("model"),
            "max_tokens": row.get("max_tokens") or function.get("max_tokens") or "null",
            "timeout": row.get("timeout") or function.get("timeout"),
            "text": row["text"],
            "finish_reason": row.get("finish_reason"),
            "usage": _usage(row.get("usage", "")),
            "attempts": row.get("attempts", "1"),
            "output": _output(row, transport),
            "reason": reason.get("reason"),
            "code": reason.get("code"),
            "status": reason.get("status"),
            "phrase": _phrase(reason.get("status", "")),
            "title": reason.get("reason", "").replace("_", " "),
            "retry_after": f"{retry_after}.0" if retry_after == OPEN["wait"] else retry_after,
            "retry_after_ceiling": _whole_seconds(retry_after),
            "partial": "true" if row["text"] else "false",
            "shape": _SHAPES.get(transport, '{"input": …}'),
            "path": path,
            "accept_encoding": "gzip" if "content-encoding: br" in row["caller"] else None,
            "accept_post": row.get("accept_post") or None,
            "allow": allow if row.get("reason") == "method_not_allowed" else None,
        }
        values |= _chat_values(row, reason)
        values |= _rpc_values(row, function, reason, transport)
        message = row.get("message")
        values["message"] = None if message is None else self._filled(message, values)
        return values


def on(words: str) -> list[str]:
    """The transports that the words of a column name: their names and groups, but for those behind a ``-``."""
    named = [transport for word in words.split() if word[0] != "-" for transport in GROUPS.get(word, [word])]
    but = [transport for word in words.split() if word[0] == "-" for transport in GROUPS.get(word[1:], [word[1:]])]
    return [transport for transport in named or TRANSPORTS if transport not in but]


def _output(row: dict[str, str], transport: str) -> str:
    if "output" in row:
        return row["output"]
    return json.dumps(row["text"]) if transport == "json" else "null"


def _chat_values(row: dict[str, str], reason: dict[str, str]) -> dict[str, str | None]:
    """What OpenAI's wire calls by other names."""
    said = row["output"] if row["typed"] == "yes" and "output" in row else row["text"]
    refused = row.get("finish_reason") == "refusal"
    status = int(reason.get("status", 0))
    named = row.get("param") or ("model" if row.get("reason") == "unknown_function" else None)
    sent, received = map(int, (row.get("usage") or "0 0").split())
    return {
        "chat_field": "refusal" if refused else "content",
        "chat_content": "null" if refused else json.dumps(said, ensure_ascii=False),
        "chat_refusal": json.dumps(said, ensure_ascii=False) if refused else "null",
        "chat_finish": _FINISH.get(row.get("finish_reason", ""), "null"),
        "chat_usage": f'{{"prompt_tokens":{sent},"completion_tokens":{received},"total_tokens":{sent + received}}}'
        if row.get("usage")
        else None,
        "chat_type": _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error"),
        "param": json.dumps(named),
        "no_retry": "false" if reason.get("again") == "no" else None,
    }


def _rpc_values(
    row: dict[str, str], function: dict[str, str], reason: dict[str, str], transport: str
) -> dict[str, str | None]:
    """What RPC calls by other names."""
    typed = "output" in row
    output = row["output"] if typed else json.dumps(row["text"], ensure_ascii=False)
    model = (row.get("usage") or "").split()
    code = reason.get("code")
    status = None if code is None else CONNECT_HTTP_STATUS[Code(code)]
    open_wait = row.get("retry_after") == OPEN["wait"]
    wait = 0.0 if open_wait else float(row.get("retry_after") or 0)
    delay = (f"{wait:.0f}s" if wait == int(wait) else f"{wait:.3f}s") if wait else None
    return {
        "media": MEDIA.get(transport),
        "rpc_variant": row.get("variant") or None,
        "rpc_max_tokens": row.get("max_tokens") or function.get("max_tokens") or None,
        "rpc_output": output if typed or transport in UNARY else None,
        "input_tokens": model[0] if model else None,
        "output_tokens": model[1] if model else None,
        "grpc_status": None if code is None else str(GRPC_STATUS[Code(code)]),
        "connect_status": None if status is None else str(status),
        "connect_phrase": _phrase(str(status)),
        "retry_delay": f"{OPEN['wait']}s" if open_wait else delay,
    }


def _whole_seconds(retry_after: str | None) -> str | None:
    return retry_after if retry_after in (None, OPEN["wait"]) else str(ceil(float(retry_after)))


def _usage(counts: str) -> str:
    if not counts:
        return "null"
    sent, received = counts.split()
    return f'{{"input_tokens":{sent},"output_tokens":{received}}}'


def _phrase(status: str) -> str:
    try:
        return HTTPStatus(int(status)).phrase
    except ValueError:
        return ""


def _without_last_line_end(content: str) -> str:
    if content.endswith("✂\n"):
        return content.removesuffix("✂\n").removesuffix("\n") + "✂"
    return content.removesuffix("\n")


CONTRACT = Contract(PAGE.read_text())
