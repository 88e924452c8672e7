"""Views and curves made by hand from flat fields, whatever group of fields each belongs to."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from engine.pictures.picture import Picture
from engine.pictures.view import CurveView, Ends, Places, Quantity, Training, View, ViewAxes

Shown = TypeVar("Shown", bound=msgspec.Struct)

GROUPS = (Places, Training, Ends, ViewAxes, Quantity)


def replace(shown: Shown, **fields: Any) -> Shown:
    """Return a view, curve or line with other values of its fields, those of its groups included."""
    groups = {name: getattr(shown, name) for name in shown.__struct_fields__}
    changes = {name: value for name, value in fields.items() if name in groups}
    for name, group in groups.items():
        if isinstance(group, GROUPS):
            of_group = {key: fields[key] for key in fields.keys() & {*group.__struct_fields__} - {*groups}}
            changes[name] = msgspec.structs.replace(group, **of_group)
            fields = {key: value for key, value in fields.items() if key not in of_group}
    assert fields.keys() <= changes.keys(), fields.keys() - changes.keys()
    return msgspec.structs.replace(shown, **changes)


def curve_view(
    *, name: str, learner: str, x: Any, y: Any, stderr: Any, over: Any, **fields: Any
) -> CurveView:
    """Return a curve of one replica that loses none unless `fields` say so."""
    ends = Ends(np.zeros(len(x), np.int64))
    plain = CurveView(name=name, learner=learner, x=x, y=y, stderr=stderr, replicas=1, over=over, ends=ends)
    return replace(plain, **fields)


def view_of(
    picture: Picture, x_label: str, y_label: str, x_log: bool, y_log: bool, rounding: float, **fields: Any
) -> View:
    """Return a view with these labels, scales and rounding."""
    plain = View(picture, ViewAxes(x_label, y_label, x_log, y_log), Quantity(rounding))
    return replace(plain, **fields)
