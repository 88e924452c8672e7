"""The code blocks of the README, of the other pages beside it, and of the pages in docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)

FENCED = re.compile(
    r"^(?P<fence>```+|~~~+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A code block: the page and the line at which it begins, its language, and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Page and line, in the form that editors open."""
        return f"{self.page}:{self.line}"


def blocks_of(text: str, page: str) -> list[Block]:
    """The code blocks of a page of Markdown."""
    return [
        Block(page, text.count("\n", 0, block.start()) + 1, block["language"].strip(), block["text"])
        for block in FENCED.finditer(text)
    ]


def blocks(language: str | None = None) -> list[Block]:
    """The code blocks of all pages, or those in one language."""
    pages = ((page, str(page.relative_to(ROOT))) for page in PAGES)
    all_blocks = [
        block for page, name in pages for block in blocks_of(page.read_text(encoding="utf-8"), name)
    ]
    return [block for block in all_blocks if language in (None, block.language)]
