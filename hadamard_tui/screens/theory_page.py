"""Page that shows a section of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engine.spec import theory_pages
from hadamard_tui.browsing.theory_text import section_parts
from hadamard_tui.keyboard import key
from hadamard_tui.screens.modal import Framed
from hadamard_tui.widgets.controls import Lines, Words

if TYPE_CHECKING:
    from engine.spec.theory_pages import Section


def cited_sections(source: str) -> list[Section]:
    by_address = theory_pages.sections()
    return [by_address[address] for address in theory_pages.cited(source) if address in by_address]


def section_option(section: Section) -> Option:
    label = Text.assemble((section.title, "bold"), (f"  theory/{section.address}", "dim"))
    return Option(label, id=section.address)


class TheoryPage(Framed[None]):
    """Page that shows one section of the theory pages, with links to others, or the list of all sections."""

    DEFAULT_CSS: ClassVar[str] = """
    TheoryPage > Words { width: 100; scrollbar-size-vertical: 1; }
    TheoryPage Static { padding: 0 1 0 0; }
    """

    def __init__(self, section: Section | None, onward: Sequence[Section]) -> None:
        super().__init__()
        self._section, self._onward = section, onward

    def compose(self) -> ComposeResult:
        with Words() as page:
            page.border_title = "Theory"
            page.border_subtitle = f"{key('move-page-down')} reads on · {key('close')} closes"
            if self._section is not None:
                yield Static(Group(*section_parts(self._section)))
            yield Static(Text("\nSections to read next" if self._section else "All sections", "bold"))
            yield Lines(*map(section_option, self._onward), compact=True)

    def on_mount(self) -> None:
        reader = self.query_one(Words if self._section else OptionList)
        reader.focus(scroll_visible=False)

    @on(OptionList.OptionSelected)
    def _open_section(self, event: OptionList.OptionSelected) -> None:
        self.app.push_screen(page_of([theory_pages.find(event.option_id or "")]))


def page_of(cited: Sequence[Section]) -> TheoryPage:
    """Return a page that shows the first cited section, or all sections if none is cited.

    It links to the other cited sections, and to the other sections of the same theory page.
    """
    all_sections = theory_pages.sections().values()
    if not cited:
        return TheoryPage(None, [*all_sections])
    neighbours = [section for section in all_sections if section.page == cited[0].page]
    onward = {section.address: section for section in (*cited[1:], *neighbours)}
    onward.pop(cited[0].address, None)
    return TheoryPage(cited[0], [*onward.values()])
