"""The terminal laboratory: an app and a command line over the engine."""

NAME = "hadamard-tui"
"""The command, and the folders that the system keeps for it."""
