"""Stored outcomes of the claims of built-in presets. The theory pages quote these outcomes.

`docs/gallery.py` stores the outcomes when it runs a preset. The command `verify` and the app do not read
them. They judge the claims of every run again.
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
    """Stored outcome of a claim.

    Args:
        text: the claim in words.
        holds: whether the claim holds in the stored run; None if it could not be judged.
        detail: the comparison of numbers that decides whether the claim holds.
    """

    text: str
    holds: bool | None
    detail: str


def read_file(file: Path) -> dict[str, tuple[MeasuredClaim, ...]]:
    """Return the claims in a file, by preset name. If the file does not exist, the result is empty.

    Raises: OSError; msgspec.ValidationError for a file with other content.
    """
    if not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[MeasuredClaim, ...]])


def write_file(file: Path, claims: Mapping[str, Sequence[MeasuredClaim]]) -> None:
    """Write measured claims to a file, one line per preset to keep diffs readable. Raises: BadInput."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [
        f"{encode(preset_name).decode()}: {encode(measured).decode()}"
        for preset_name, measured in sorted(claims.items())
    ]
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode(), "measured claims")


def add(preset_name: str, outcomes: Sequence[Outcome]) -> None:
    """Store the outcomes of a preset's run, replacing the outcomes of an earlier run. Raises: BadInput."""
    measured = [MeasuredClaim(outcome.claim.text, outcome.holds, outcome.detail) for outcome in outcomes]
    write_file(FILE, {**read_file(FILE), preset_name: measured})
