"""Fill the theory pages with charts and measured claims of stored runs, and write their list.

Usage: .venv/bin/python docs/theory_runs.py    as `make update` does, after docs/gallery.py.

A block between `<!-- run: PRESET -->` and `<!-- end -->` gets the chart of the preset, its headline, and each
claim with its verdict and what the run measured, as docs/gallery.py stored them. It runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.spec import presets, theory_pages
from engine.spec.theory_pages import Page
from hadamard_tui.browsing import measured_claims, preview
from hadamard_tui.browsing.measured_claims import MeasuredClaim

FOLDER = Path(__file__).resolve().parent / "theory"
CONTENTS = FOLDER / "README.md"

BLOCK = re.compile(r"<!-- run: (?P<preset>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)

HEAD = """# Theory

The statements that the program implements, one page per subject, in an order in which they can be taught.
Each section states a result with its conditions, says who is bound and why, gives the idea of the proof,
and shows runs of presets with what they measured. `hadamard-tui theory SECTION` prints a section, and in the
app `T` opens the section that a set-up cites. Which preset shows which statement:
[statements.md](../reference/statements.md). `make update` writes this list.
"""


def filled(text: str, claims: Mapping[str, Sequence[MeasuredClaim]]) -> str:
    """Return a page with every block written anew."""
    return BLOCK.sub(lambda block: "\n".join(_block(block["preset"], claims)), text)


def _block(preset: str, claims: Mapping[str, Sequence[MeasuredClaim]]) -> Iterator[str]:
    """Lines of the block of a preset; a claim whose present text was not measured has no verdict."""
    experiment = presets.load(preset)
    measured = {claim.text: claim for claim in claims.get(preset, ())}
    yield f"<!-- run: {preset} -->"
    yield f"![{experiment.title}](../gallery/{preset}.svg)\n"
    yield f"The preset `{preset}` measured: {preview.shipped()[preset].caption}\n"
    yield from (_claim(claim.text, measured.get(claim.text)) for claim in experiment.claims)
    yield "<!-- end -->"


def _claim(text: str, measured: MeasuredClaim | None) -> str:
    if measured is None or measured.holds is None:
        return f"- {text}."
    comparison = f": `{measured.detail}`" if measured.detail else ""
    return f"- {'✓' if measured.holds else '✗'} {text}{comparison}"


def contents(pages: tuple[Page, ...]) -> str:
    """Return the list of the pages, one line per page."""
    questions = [" ".join(page.question.split()).replace("](#", f"]({page.name}.md#") for page in pages]
    lines = [
        f"{number}. [{page.title}]({page.name}.md): {question}\n"
        for number, (page, question) in enumerate(zip(pages, questions, strict=True), start=1)
    ]
    return HEAD + "\n" + "".join(lines)


def main() -> None:
    """Write all blocks and the list of the pages."""
    claims = measured_claims.read_file(measured_claims.FILE)
    for file in sorted(FOLDER.glob("*.md")):
        if file != CONTENTS:
            file.write_text(filled(file.read_text(encoding="utf-8"), claims), encoding="utf-8")
    CONTENTS.write_text(contents(theory_pages.pages()), encoding="utf-8")


if __name__ == "__main__":
    main()
