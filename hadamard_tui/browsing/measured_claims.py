"""Stored outcomes of the claims of built-in presets, which the theory pages quote.

`docs/gallery.py` stores them. The app and the command `verify` do not read them, but judge claims anew.
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
        holds: whether the claim holds; None if it could not be judged.
        detail: the comparison of numbers that decides whether the claim holds.
    """

    text: str
    holds: bool | None
    detail: str


def read_file(file: Path) -> dict[str, tuple[MeasuredClaim, ...]]:
    """Return the claims in a file by preset name; none if the file does not exist.

    Raises: OSError; msgspec.ValidationError for a file with other content.
    """
    if not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, tuple[MeasuredClaim, ...]])


def write_file(file: Path, claims: Mapping[str, Sequence[MeasuredClaim]]) -> None:
    """Write claims to a file, one line per preset to keep diffs readable. Raises: BadInput."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [
        f"{encode(preset_name).decode()}: {encode(measured).decode()}"
        for preset_name, measured in sorted(claims.items())
    ]
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode(), "measured claims")


def add(preset_name: str, outcomes: Sequence[Outcome]) -> None:
    measured = [MeasuredClaim(outcome.claim.text, outcome.holds, outcome.detail) for outcome in outcomes]
    write_file(FILE, {**read_file(FILE), preset_name: measured})
