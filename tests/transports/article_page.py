"""The outcomes of ``docs/article.md``: how each is played, and what comes, byte for byte."""

from dataclasses import dataclass
from pathlib import Path

from tests.matrix.document import sections
from tests.matrix.notation import Script

_PAGE = Path(__file__).parents[2] / "docs" / "article.md"


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    body: str
    upstream: str
    expected: dict[str, str]
    """By transport: ``http`` and ``ws``."""

    def script(self) -> Script:
        return Script.read(self.upstream)


def outcomes(transport: str) -> list[Outcome]:
    """Those that the page shows on the transport."""
    [section] = [each for each in sections(_PAGE.read_text()) if each.title == "Byte for byte"]
    shown = {block.words: block.text for block in section.blocks}
    [table] = section.tables
    found = [
        Outcome(
            name=row["outcome"],
            body=row["body"] or '{"prompt":"hi"}',
            upstream=row["upstream"],
            expected={
                words.partition(" ")[0]: _unfolded(text, shown)
                for words, text in shown.items()
                if words.partition(" ")[2] == row["outcome"]
            },
        )
        for row in table.rows
    ]
    assert {name for words in shown if (name := words.partition(" ")[2]) != "<head>"} == {each.name for each in found}
    return [each for each in found if transport in each.expected]


def _unfolded(text: str, shown: dict[str, str]) -> str:
    text = text.replace("<head>\n", shown["http <head>"])
    return text[:-1] if text.endswith("}\n") else text  # a document has no line end after its last line
