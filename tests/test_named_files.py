"""Every file that a page links or names is in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from code_blocks import PAGES, ROOT

FOLDERS = (ROOT, ROOT / "engine", ROOT / "engine" / "backends", ROOT / "hadamard_tui")
"""Folders to which paths in pages are relative."""

EXAMPLES = ("mine", "PAGE")
"""Stems of files that pages ask the reader to write."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path):
    text = page.read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|toml|svg))`", text))
    gone = {
        path
        for path in paths
        if Path(path).stem not in EXAMPLES and not any((folder / path).is_file() for folder in FOLDERS)
    }
    assert gone == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_links_is_there(page: Path):
    links = set(re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")))
    gone = {
        link
        for link in links
        if "://" not in link and not link.startswith("mailto:") and not (page.parent / link).exists()
    }
    assert gone == set()


def anchors(page: Path) -> set[str]:
    """Names of the sections of a page: those that it states, or those made of its headings."""
    headings = re.findall(r"^#+ (.+?)(?: \{#([\w-]+)\})?$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {name or re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading, name in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_section_that_a_page_links_is_there(page: Path):
    links = set(re.findall(r"\]\(((?:[^):#\s]+\.md)?)#([^)\s]+)\)", page.read_text(encoding="utf-8")))
    targets = {(page.parent / path if path else page, name) for path, name in links}
    gone = {
        f"{target.name}#{name}" for target, name in targets if target.exists() and name not in anchors(target)
    }
    assert gone == set()
