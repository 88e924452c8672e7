"""What presets are about: the headings under which they are listed, in their order."""

from __future__ import annotations

from typing import Literal, get_args

Subject = Literal[
    "Hadamard matrices",
    "Rotation invariance",
    "Multiplicative updates and sparse nets",
    "Random instances",
    "Many targets and rank",
    "Losses and labels",
    "Examples needed",
    "Implicit bias",
    "Wide and deep nets",
    "Parities",
    "Large steps",
    "Data and classes",
    "Open problems",
    "Other",
]

SUBJECTS: tuple[Subject, ...] = get_args(Subject)
