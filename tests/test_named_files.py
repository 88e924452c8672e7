"""Every file that a page links or names is in the repository, and as long as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from code_blocks import PAGES, ROOT

from engine.backends import backends

FOLDERS = (ROOT, ROOT / "engine", ROOT / "engine" / "backends", ROOT / "hadamard_tui")
"""Folders to which paths in pages are relative."""

EXAMPLES = ("mine", "PAGE")
"""Stems of files that pages ask the reader to write."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_on_a_page_exists(page: Path):
    text = page.read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|toml|svg))`", text))
    gone = {
        path
        for path in paths
        if Path(path).stem not in EXAMPLES and not any((folder / path).is_file() for folder in FOLDERS)
    }
    assert gone == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_linked_from_a_page_exists(page: Path):
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
def test_every_section_linked_from_a_page_exists(page: Path):
    links = set(re.findall(r"\]\(((?:[^):#\s]+\.md)?)#([^)\s]+)\)", page.read_text(encoding="utf-8")))
    targets = {(page.parent / path if path else page, name) for path, name in links}
    gone = {
        f"{target.name}#{name}" for target, name in targets if target.exists() and name not in anchors(target)
    }
    assert gone == set()


def lines_of_backend(name: str) -> int:
    """Lines of a backend: its file, and the folder with its compiled code, if it has one."""
    folder = ROOT / "engine" / "backends"
    files = [folder / f"{name.replace('-', '_')}.py"]
    text = files[0].read_text(encoding="utf-8")
    for compiled in {"nets", "passes"} & set(re.findall(r"engine\.backends\.(\w+)", text)):
        files += sorted((folder / compiled).glob("*.py"))
    return sum(file.read_text(encoding="utf-8").count("\n") for file in files)


def test_the_performance_page_states_lines_of_code_of_each_backend_within_a_tenth():
    text = (ROOT / "docs" / "explanation" / "performance.md").read_text(encoding="utf-8")
    stated = {
        name: int(lines) for name, lines in re.findall(r"^\| `([\w-]+)` \| (\d+) \|", text, re.MULTILINE)
    }
    assert stated == {name: pytest.approx(lines_of_backend(name), rel=0.1) for name in stated}
    assert {*stated, "dense"} == {*backends()}
