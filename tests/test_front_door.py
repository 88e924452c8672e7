"""The README stays short, and one version stands in every place that names it."""

from __future__ import annotations

import re

from code_blocks import ROOT

from engine import __version__

README = (ROOT / "README.md").read_text(encoding="utf-8")
LARGEST_PICTURE = 1_000_000
"""Bytes of a picture of the README."""


def test_the_readme_is_short():
    lines = README.splitlines()
    assert len(lines) <= 200
    assert len(README.split()) <= 1800
    assert [line for line in lines if len(line) > 120] == []


def test_the_readme_shows_an_animation_and_three_small_pictures():
    pictures = [ROOT / path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)]
    assert [picture.suffix for picture in pictures] == [".gif", ".svg", ".svg", ".svg"]
    assert max(picture.stat().st_size for picture in pictures) <= LARGEST_PICTURE


def test_every_page_with_a_version_names_the_current_version():
    pages = {
        "README.md": r"version = \{(.+)\}",
        "CITATION.cff": r"^version: (.+)$",
        "CHANGELOG.md": r"^## (\S+)$",
    }
    versions = [
        re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        for page, pattern in pages.items()
    ]
    assert [newest for newest, *_ in versions] == [__version__] * 3


def test_the_readme_states_the_approximate_number_of_presets():
    named = re.search(r"^About (\d+) such experiments", README, re.MULTILINE)
    assert named is not None
    assert abs(int(named[1]) - len(list((ROOT / "presets").glob("*.toml")))) <= 10
