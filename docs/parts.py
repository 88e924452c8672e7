"""The README's tables of parts, made from the catalogue.

Usage: .venv/bin/python docs/parts.py    writes them into README.md, as `make update` does.
"""

from __future__ import annotations

from pathlib import Path

from engine.core import catalogue
from engine.core.parts import summary_of

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- parts: made by docs/parts.py -->\n", "<!-- end of parts -->\n"


def tables() -> str:
    """One table per family, with name and summary of every stable member."""
    lines = []
    for family in catalogue.FOLDERS:
        lines += [f"**{family}**", "", "| kind | what it is |", "|---|---|"]
        for kind, part in catalogue.members(family).items():
            if part.experimental:
                continue
            summary = summary_of(part).replace("|", "\\|")
            lines.append(f"| `{kind}` | {summary} |")
        lines.append("")
    return "\n".join(lines)


def updated(readme: str) -> str:
    """README with tables for the present catalogue."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
