"""The headline of every preset, from the stored results of the gallery, with the claim that it states.

Usage: .venv/bin/python docs/headlines.py    writes docs/reference/headlines.md, as `make update` does.
"""

from __future__ import annotations

from pathlib import Path

from engine.results.outcomes import is_about
from engine.spec import presets
from engine.spec.experiment import pictures_of
from hadamard_tui.browsing import preview

FILE = Path(__file__).resolve().parent / "reference" / "headlines.md"

HEAD = """# Headlines

The headline of the first picture of every preset, as docs/gallery.py measured it, and the claim that the
picture is about. `make update` writes this page.

| preset | headline | claim |
|---|---|---|
"""


def claim_of(name: str) -> str:
    """Claim that the first picture of a preset states, or an empty text."""
    experiment = presets.load(name)
    first = pictures_of(experiment)[0]
    claims = [claim for claim in experiment.claims if is_about(claim, first, experiment)]
    claim = min(claims, key=lambda claim: not claim.headline, default=None)
    return "" if claim is None else claim.text


def page() -> str:
    """Page of all presets with stored results."""
    stored = preview.read_file(preview.FILE)
    rows = [(name, stored[name].caption, claim_of(name)) for name in presets.names() if name in stored]
    escaped_rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in escaped_rows)


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
