"""Theory pages as text for the terminal, with the charts of their runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.spec.theory_pages import Section, pages
from hadamard_tui.browsing import preview

_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE)
_CHART = re.compile(r"^!\[[^\]]*\]\(\.\./gallery/([\w-]+)\.svg\)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)?(?:\.md)?#([\w-]+)\)")


def section_parts(section: Section, coloured: bool = True) -> Iterator[RenderableType]:
    yield Text.assemble((section.title, "bold underline"), (f"  theory/{section.address}", "dim"), "\n")
    linked = _LINK.sub(lambda link: f"{link[1]} (theory/{link[2] or section.page}#{link[3]})", section.text)
    prose_and_presets = _CHART.split(_COMMENT.sub("", linked))
    for place, part in enumerate(prose_and_presets):
        if place % 2 and (chart := preview.shipped().get(part)) is not None:
            shown = preview.shown(chart, coloured)
            yield Padding(Text.assemble((f"{part}\n", "bold"), shown, "\n"), (1, 0, 0, 2))
        elif place % 2 == 0 and part.strip():
            yield Markdown(part.strip())


def contents() -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("section", no_wrap=True)
    table.add_column("title")
    for page in pages():
        table.add_row("", Text(page.title, "bold underline"))
        for section in page.sections:
            table.add_row(Text(section.address, "bold"), section.title)
        table.add_section()
    table.caption = "hadamard-tui theory SECTION prints a section."
    return table
