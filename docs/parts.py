"""The page of all parts, made from the catalogue.

Usage: .venv/bin/python docs/parts.py    writes docs/reference/parts.md, as `make update` does.
"""

from __future__ import annotations

from pathlib import Path

from engine.core import catalogue
from engine.core.parts import summary_of

FILE = Path(__file__).resolve().parent / "reference" / "parts.md"

HEAD = """# Parts

Every part that a preset can name, by family. `hadamard-tui parts list FAMILY` shows the fields of its members
with their defaults. `make update` writes this page.

"""


def page() -> str:
    """Return one table per family, with name and summary of every stable member."""
    lines = []
    for family in catalogue.FOLDERS:
        lines += [f"## {family}", "", "| kind | what it is |", "|---|---|"]
        for kind, member in catalogue.members(family).items():
            if member.experimental:
                continue
            summary = summary_of(member).replace("|", "\\|")
            lines.append(f"| `{kind}` | {summary} |")
        lines.append("")
    return HEAD + "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
