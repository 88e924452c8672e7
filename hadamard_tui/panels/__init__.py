"""The panels below the chart of losses, in the order of their numbers: one file each."""

from hadamard_tui.panels import gap, mistakes, rank, spectrum, story, theory, train, verdict, weights

PANELS = (
    weights.PANEL,
    spectrum.PANEL,
    rank.PANEL,
    gap.PANEL,
    mistakes.PANEL,
    train.PANEL,
    verdict.PANEL,
    theory.PANEL,
    story.PANEL,
)

TABLE = "table"
"""In the place of a panel: none, so that the table of learners and the chart have the room."""

assert len(PANELS) < 10, "panels are chosen by the digits 1 … 9, and the table by 0"

ABOUT = {panel.name: panel.about for panel in PANELS} | {TABLE: "no panel, only the table of learners"}
"""What can be chosen below the chart, by name."""
