"""Verdicts of the claims of shipped presets with what their run measured, as the theory pages quote them.

`docs/gallery.py` stores them when it runs a preset. `verify` and the app judge claims anew and do not read
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.core import files

if TYPE_CHECKING:
    from engine.claims import Outcome

FILE = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "claims.json"


class MeasuredClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim in words, whether it holds in the stored run, and the comparison that decides it."""

    text: str
    holds: bool | None
    detail: str


def read_file(file: Path) -> dict[str, tuple[MeasuredClaim, ...]]:
    """Return the measured claims of a file by preset; none without a file.

    Raises: OSError; msgspec.ValidationError for a file with other content.
    """
    if not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[MeasuredClaim, ...]])


def write_file(file: Path, claims: Mapping[str, Sequence[MeasuredClaim]]) -> None:
    """Write a file with one line per preset, so that differences are readable. Raises: BadInput."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [
        f"{encode(preset_name).decode()}: {encode(measured).decode()}"
        for preset_name, measured in sorted(claims.items())
    ]
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode(), "measured claims")


def add(preset_name: str, outcomes: Sequence[Outcome]) -> None:
    """Store the outcomes of a run in place of those of an earlier run. Raises: BadInput."""
    measured = [MeasuredClaim(outcome.claim.text, outcome.holds, outcome.detail) for outcome in outcomes]
    write_file(FILE, {**read_file(FILE), preset_name: measured})
