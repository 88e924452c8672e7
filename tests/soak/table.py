"""The table of a soak, as it stands in docs/explanation/reliability.md."""

from __future__ import annotations

import datetime
from pathlib import Path

import psutil

from benchmarks.tui import machine
from tests.soak.outcome import KINDS, Outcome

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md"
BEGIN, END = "<!-- soak: written by make soak -->", "<!-- end of soak -->"


def markdown(outcomes: list[Outcome], minutes: float) -> str:
    """A sentence about when and where, and one row per part."""
    about = machine()
    gigabytes = round(psutil.virtual_memory().total / 1e9)
    lines = [
        f"{datetime.date.today().isoformat()}, {minutes:.0f} minutes, {about['cores']} cores of "
        f"{about['processor']}, {gigabytes} GB; Python {about['python']}, Textual {about['textual']}.",
        "",
        "| part | seed | done | exceptions | hangs | losses | terminals not restored | growth |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        done = ", ".join(
            f"{value:,.4g} {name}" if value < 1e4 else f"{value:,.0f} {name}"
            for name, value in outcome.did.items()
        )
        counts = [sum(failure.kind == kind for failure in outcome.failures) for kind in KINDS]
        cells = (outcome.part, str(outcome.seed), done, *map(str, counts))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def replace_rows(outcome: Outcome, minutes: float) -> None:
    """Replace the rows of one part in the table on the page, and say when this part ran on what machine."""
    head, *_, row = markdown([outcome], minutes).splitlines()
    before, _, rest = PAGE.read_text().partition(BEGIN)
    table, _, after = rest.partition(END)
    named = f"`{outcome.part}` alone: "
    starts = f"| {outcome.part} |", named
    lines = [line for line in table.strip().splitlines() if not line.startswith(starts)]
    place = next(number for number, line in enumerate(lines) if line.startswith("| part"))
    lines[place:place] = [named + head, ""]
    text = "\n".join([*lines, row]).replace("\n\n\n", "\n\n")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def write(table: str) -> None:
    """Put the table between its marks on the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")
