"""The panels below the chart of losses, in the order of their numbers: one file each."""

from hadamard_tui.panels import gap, mistakes, rank, spectrum, story, theory, verdict, weights

PANELS = (
    weights.PANEL,
    spectrum.PANEL,
    rank.PANEL,
    gap.PANEL,
    mistakes.PANEL,
    verdict.PANEL,
    theory.PANEL,
    story.PANEL,
)

TABLE = "table"
"""In the place of a panel: none, so that the table of learners and the chart have the room."""

ABOUT = {panel.name: panel.about for panel in PANELS} | {TABLE: "no panel, only the table of learners"}
"""What can be chosen below the chart, by name."""
