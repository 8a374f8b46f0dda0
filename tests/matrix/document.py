"""The contract page as its sections: Markdown in, headings with their blocks and tables out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "contract.md"

_CODE = re.compile(r"^(`+)(.*)\1$")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the words after its opening fence, and its text with the line ends that it shows."""

    words: str
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by their column's heading; code spans without their backquotes."""

    rows: list[dict[str, str]]


@dataclass(slots=True)
class Section:
    title: str
    blocks: list[Block] = field(default_factory=list[Block])
    tables: list[Table] = field(default_factory=list[Table])
    parts: list[Block | Table] = field(default_factory=list[Block | Table])
    """Blocks and tables in the order of the page."""


def sections(page: str) -> list[Section]:
    found = [Section("")]
    lines = iter(page.split("\n"))
    header: list[str] | None = None
    table: Table | None = None
    for line in lines:
        if line.startswith("```"):
            block = Block(line.lstrip("`").strip(), "".join(_until_fence(lines)))
            found[-1].blocks.append(block)
            found[-1].parts.append(block)
        elif line.startswith("#"):
            found.append(Section(line.lstrip("# ")))
        if not line.startswith("|"):
            header = table = None
        elif header is None:
            header = _cells(line)
        elif table is None:  # the line of dashes
            table = Table([])
            found[-1].tables.append(table)
            found[-1].parts.append(table)
        else:
            cells = _cells(line)
            if len(cells) != len(header):
                raise ValueError(f"{len(cells)} cells under {len(header)} headings: {line}")
            table.rows.append(dict(zip(header, cells, strict=True)))
    return found


def _until_fence(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("```"):
            return
        yield line + "\n"
    raise ValueError("a block is not closed")


def _cells(line: str) -> list[str]:
    bars = [match.start() for match in _BAR.finditer(line)]
    return [_plain(line[start + 1 : end].strip()) for start, end in pairwise(bars)]


def _plain(cell: str) -> str:
    match = _CODE.match(cell)
    if match is None:
        return cell
    inner = match[2]
    # As Markdown has it: one space within double backquotes belongs to them, where the text begins or ends in one.
    return inner.strip(" ") if len(match[1]) > 1 else inner
