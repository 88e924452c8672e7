"""The theory pages in the app."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from engine.spec import presets, theory_pages
from hadamard_tui.app import HadamardApp
from hadamard_tui.keyboard import key, panel_key
from hadamard_tui.screens.help import PartPage
from hadamard_tui.screens.theory_page import TheoryPage, cited_sections, page_of

from .conftest import WIDE, opened


def clickable(app: HadamardApp, action: str) -> tuple[int, int] | None:
    """Place on the screen where a click does an action; None without one."""
    width, height = app.size
    for y in range(height):
        for x in range(width):
            if action in str(app.screen.get_style_at(x, y).meta.get("@click", "")):
                return x, y
    return None


@pytest.mark.slow
async def test_a_citation_opens_its_section_by_a_key_and_by_a_click(app: HadamardApp) -> None:
    async with opened(app, WIDE) as pilot:
        await app.choose_preset("agd-64")
        await pilot.press(key("theory"))
        assert isinstance(app.screen, TheoryPage)
        assert app.screen._section == theory_pages.find("symmetry#rotation-invariance")
        await pilot.press("escape")
        await pilot.press(panel_key("story"))
        await pilot.pause()
        place = clickable(app, "app.theory")
        assert place is not None
        await pilot.click(offset=place)
        assert isinstance(app.screen, TheoryPage)


@pytest.mark.slow
async def test_the_page_of_a_part_links_to_its_cited_sections(app: HadamardApp) -> None:
    async with opened(app, WIDE) as pilot:
        app.show_part("updates", "egu")
        await pilot.pause()
        assert isinstance(app.screen, PartPage)
        app.screen.query(OptionList).first().action_select()
        await pilot.pause()
        assert isinstance(app.screen, TheoryPage)


def test_the_theory_page_without_a_citation_lists_all_sections() -> None:
    assert len(page_of([])._onward) == len(theory_pages.sections())


def test_a_preset_name_finds_the_sections_with_its_run() -> None:
    assert [section.address for section in theory_pages.with_run("hadamard-128")] == ["hadamard#bounds"]
    assert theory_pages.with_run("my-own") == ()


def test_a_section_links_to_the_other_cited_sections_of_its_pages() -> None:
    cited = cited_sections(presets.load("agd-64").source)
    page = page_of(cited)
    assert page._section == cited[0]
    assert page._onward[0] == cited[1]
    assert cited[0] not in page._onward
    assert {section.page for section in page._onward} == {section.page for section in cited}
