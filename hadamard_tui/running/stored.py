"""Stored pictures: the curves of a preset as shipped, shown before a run of it ends.

`docs/gallery.py` writes a file for every preset. Curves along records and along axes are stored; heat maps
are not, as they have no curves. A stored picture is not a result: tables, claims, headlines and files never
read one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from engine.core import files
from engine.spec import preset_index, presets
from hadamard_tui.charts.look import STORED
from hadamard_tui.charts.series import Axes, LineStyle, Series
from hadamard_tui.charts.series_builder import Plot, others
from hadamard_tui.colours import palette

if TYPE_CHECKING:
    from pathlib import Path

    from engine.spec.reading import Raw
    from hadamard_tui.editing.editable_experiment import EditableExperiment


class StoredSeries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A series of a chart.

    Args:
        x, y: points; None makes a gap.
        ink: position of its colour among those of charts, so that it is drawn in every theme.
        mark: the letter of a curve; nothing for a line of the theory or a mark.
    """

    x: tuple[float | None, ...]
    y: tuple[float | None, ...]
    ink: int
    name: str = ""
    mark: str | None = None
    style: LineStyle = "solid"
    formula: str = ""

    def drawn(self, faint: bool) -> Series:
        """The series in the colours of the theme."""
        return Series(
            self.name,
            np.array(self.x, dtype=float),
            np.array(self.y, dtype=float),
            palette.current().of_charts[self.ink],
            self.style,
            mark=self.mark,
            faint=faint,
            formula=self.formula,
        )


class StoredPicture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A chart, and for the picture of a sweep its headline."""

    axes: Axes
    series: tuple[StoredSeries, ...]
    headline: str = ""

    def plot(self, note: str, faint: bool) -> Plot:
        """The chart, with a note in its legend."""
        return Plot([series.drawn(faint) for series in self.series], self.axes, f"{STORED} · {note}")

    def ghost(self) -> tuple[Series, ...]:
        """The curves, to be drawn faint behind those of a run, and one name for all of them."""
        nothing = np.empty(0)
        curves = [
            Series("", curve.x, curve.y, curve.colour, "sparse", faint=True)
            for curve in (series.drawn(faint=True) for series in self.series if series.mark)
        ]
        return (Series(STORED, nothing, nothing, others(), "sparse"), *curves) if curves else ()


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The stored pictures of a preset.

    Args:
        digest: that of the preset when it was run.
        first: the picture that the preset opens with; None for a heat map.
        law: what a sweep of the preset reads off against the number that it varies.
    """

    digest: str
    first: StoredPicture | None = None
    law: StoredPicture | None = None


def file_of(name: str) -> Path:
    """The file with the stored pictures of a shipped preset."""
    return presets.folder() / "stored" / f"{name}.json"


@lru_cache(maxsize=8)
def read(name: str) -> Stored | None:
    """The stored pictures of a shipped preset; None for one that has none. Raises: OSError;
    msgspec.ValidationError."""
    file = file_of(name)
    return msgspec.json.decode(file.read_bytes(), type=Stored) if file.exists() else None


def write(name: str, stored: Stored) -> None:
    """Write the stored pictures of a shipped preset. Raises: BadInput."""
    file_of(name).parent.mkdir(exist_ok=True)
    content = msgspec.json.encode(stored, enc_hook=np.generic.item)  # axes may have numbers of numpy
    files.write(file_of(name), content + b"\n", f"stored pictures of {name}")
    read.cache_clear()


def digest(document: Raw) -> str:
    """A digest of all that the curves of a preset depend on: not of its claims and the titles of pictures."""
    pictures = [{**picture, "title": ""} for picture in document["pictures"]]
    return preset_index.digest({**document, "pictures": pictures, "claims": []})


def stored_of(editable: EditableExperiment) -> Stored | None:
    """The stored pictures of a set-up that is a shipped preset, unchanged; None for any other."""
    if editable.preset is None or editable.changed or presets.name_of(editable.preset) != editable.preset:
        return None
    stored = read(editable.preset)
    return stored if stored is not None and stored.digest == digest(editable.document) else None
