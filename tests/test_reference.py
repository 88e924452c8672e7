"""The generated pages of reference are those of the present code."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_the_page_of_parts_is_that_of_the_catalogue():
    script = runpy.run_path(str(DOCS / "parts.py"))
    assert script["FILE"].read_text(encoding="utf-8") == script["page"](), "`make update` writes it anew"
