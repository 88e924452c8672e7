"""The thumbnails that come with the program, made by `make gallery` from real runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from engine.core import files
from hadamard_tui.browsing.thumbnail import Thumbnail

FILE = Path(__file__).with_name("thumbnails.json")


@cache
def shipped() -> Mapping[str, Thumbnail]:
    """Those that come with the program, by the names of their presets."""
    return read(FILE)


def read(file: Path) -> dict[str, Thumbnail]:
    """The thumbnails of a file, by the names of their presets; none where there is no file.

    Raises: OSError; msgspec.ValidationError for a file of something else.
    """
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Thumbnail]) if file.exists() else {}


def write(file: Path, thumbnails: Mapping[str, Thumbnail]) -> None:
    """Write a file with a line per preset, so that a change is seen. Raises: BadInput."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [f"{encode(name).decode()}: {encode(one).decode()}" for name, one in sorted(thumbnails.items())]
    files.write(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode(), "thumbnails")
