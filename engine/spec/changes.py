"""Changes of preset documents: sweep over a number, rename things, and find claims that no longer apply."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import structs

from engine.core import catalogue
from engine.core.expressions import with_changed_expressions, with_name
from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.spec import documents
from engine.spec.document_expressions import is_expression, with_texts, with_texts_changed
from engine.spec.experiment import Experiment, missing, picture_of
from engine.spec.reading import Raw
from engine.spec.sweep import Sweep

OF_AXES = ("x", "y", "times")
"""Picture fields whose expressions may use sweep axes."""

Text = Callable[[str], str]


def rename_learner(raw: Raw, former: str, other: str) -> None:
    """Rename a learner in claims about its curves, and in the field `relative` of pictures.

    Curves whose names include sweep values, such as `GD, d = 4`, are renamed too.
    """

    def renamed(curve: str) -> str:
        is_at_values = curve.startswith(f"{former}, ")
        return f"{other}{curve[len(former) :]}" if curve == former or is_at_values else curve

    _rename_curves(raw, renamed)
    for picture in _tables_of_part(raw, "pictures"):
        if picture.get("relative") == former:
            picture["relative"] = other


def rename_picture(raw: Raw, former: str, other: str) -> None:
    """Rename a picture in the claims about it, and in the pictures that name it in their field `beneath`."""
    for table, key in (("claims", "picture"), ("pictures", "beneath")):
        for reference in _tables_of_part(raw, table):
            if reference.get(key) == former:
                reference[key] = other


def rename_axis(raw: Raw, former: str, other: str) -> None:
    """Rename a sweep axis in expressions, conditions, pictures and claims.

    A claim contains the name of the axis if it is about a curve such as `GD, d = 4`.
    """
    _change_expressions(raw, lambda text: with_name(text, former, other))
    _rename_curves(raw, lambda curve: curve.replace(f", {former} = ", f", {other} = "))
    for picture in _tables_of_part(raw, "pictures"):
        curves = picture.get("curves")
        if isinstance(curves, str):
            picture["curves"] = other if curves == former else curves
        elif isinstance(curves, list | tuple):
            picture["curves"] = [other if curve == former else curve for curve in curves]
        if isinstance(at := picture.get("at"), Mapping):
            picture["at"] = {other if key == former else key: number for key, number in at.items()}
        read = picture.get("read")
        if isinstance(read, dict) and read.get("over") == former:
            read["over"] = other


def put_numbers(raw: Raw, names: Mapping[str, float]) -> None:
    """Replace names by their numbers in all expressions and conditions of a document."""

    def put(text: str) -> str | float:
        if (alone := text.strip()) in names:
            return int(names[alone]) if names[alone].is_integer() else names[alone]
        for name, number in names.items():
            # In parentheses: "2d" with d = −1 must not become "2-1".
            text = with_name(text, name, f"({number:.12g})")
        return text

    _change_expressions(raw, put)


def _rename_curves(raw: Raw, change: Text) -> None:
    members = catalogue.members("claims")
    for claim in _tables_of_part(raw, "claims"):
        for field in getattr(members.get(str(claim.get("kind"))), "curve_fields", ()):
            if isinstance(claim.get(field), str):
                claim[field] = change(claim[field])


def _change_expressions(raw: Raw, change: Callable[[str], str | float]) -> None:
    document = {key: part for key, part in raw.items() if key != "axes"}
    raw |= with_texts(
        Experiment, document, "", lambda kinds, text, _: change(text) if is_expression(kinds, text) else text
    )
    raw |= with_texts_changed(raw, lambda text, _: with_changed_expressions(text, change))
    for picture in _tables_of_part(raw, "pictures"):
        picture |= {key: str(change(picture[key])) for key in OF_AXES if isinstance(picture.get(key), str)}
    for learner in _tables_of_part(raw, "learners"):
        if isinstance(learner.get("where"), str):
            learner["where"] = str(change(learner["where"]))


def _tables_of_part(raw: Raw, part: str) -> Iterator[dict[str, Any]]:
    tables = raw.get(part)
    return (table for table in tables if isinstance(table, dict)) if isinstance(tables, list) else iter(())


SET_UP, PICTURE = "the set-up was changed", "the picture that the claim is about was changed"
FEWER, COARSER = "the run has fewer replicas than the preset", "the run has less precision than the preset"

PARTS = ("problem", "protocol", "learners", "axes", "pictures", "run")
"""Keys of a document that affect the results which claims describe."""


def unjudged(
    sweep: Sweep, document: Raw, origin: Raw, experiment: Experiment | None = None
) -> dict[int, str]:
    """Return why some claims of a changed document are not judged, by the index of the claim.

    A claim with the same text as a claim of the preset is about the runs of the preset. Such a claim is
    judged only if `document` has the same runs and the same picture as the preset. Any other claim was
    written by the user, and is judged. A different seed, more replicas and new titles do not count as
    changes.

    Args:
        sweep: the sweep of `document`.
        origin: the preset from which `document` was made, with its defaults.
        experiment: the first experiment of `origin`; None to read it from `origin`.
    """
    if all(document.get(part) == origin.get(part) for part in PARTS):
        return {}
    texts = [claim["text"] for claim in origin["claims"]]
    places = {
        number: texts.index(claim["text"])
        for number, claim in enumerate(document.get("claims", ()))
        if claim["text"] in texts
    }
    if not places:
        return {}
    now, before = sweep.experiment, experiment or documents.first(origin)
    if _computed_parts(now) != _computed_parts(before):  # fast, because it does not build all sweep points
        return dict.fromkeys(places, SET_UP)
    try:
        shipped = documents.sweep_of(origin)
    except BadInput:  # a later sweep point of the preset cannot run, so its claims describe no runs
        return dict.fromkeys(places, SET_UP)
    if [_computed_parts(point.experiment) for point in sweep.points] != [
        _computed_parts(point.experiment) for point in shipped.points
    ]:
        return dict.fromkeys(places, SET_UP)
    if now.run.replicas < before.run.replicas:
        return dict.fromkeys(places, FEWER)
    if (now.dtype, before.dtype) == ("float32", "float64"):
        return dict.fromkeys(places, COARSER)
    pairs = {number: (sweep.claims[number], shipped.claims[place]) for number, place in places.items()}
    return {
        number: PICTURE
        for number, (claim, of_preset) in pairs.items()
        if _shown_part(picture_of(now, claim.picture)) != _shown_part(picture_of(before, of_preset.picture))
    }


def _computed_parts(experiment: Experiment) -> tuple[Any, ...]:
    return experiment.problem, experiment.protocol, experiment.learners


def _shown_part(picture: Picture) -> Picture:
    return structs.replace(picture, name=None, title="", marks=(), draw="curves", x_log=None, y_log=None)


AXIS = "sweep"
"""Name of the sweep axis."""

THRESHOLD = 0.1
"""Loss level in the picture against the sweep axis, which shows when the loss first falls below it."""


def with_axis(document: Raw, experiment: Experiment, axis: Raw) -> Raw:
    """Return a copy of a document with a sweep axis called AXIS, and with pictures of the sweep.

    Claims are left out, because they are about a single value of the swept number.

    Args:
        experiment: the experiment of the document, without the axis.
        axis: the table of the axis, with its `symbol` and its `values`.
    """
    symbol, values = axis["symbol"], axis["values"]
    title = f"Sweep of {symbol} from {values[0]} to {values[-1]}"
    pictures = _pictures_of_sweep(document, experiment, symbol)
    return {**document, "title": title, "axes": [axis], "pictures": pictures, "claims": []}


def _pictures_of_sweep(document: Raw, experiment: Experiment, symbol: str) -> list[Raw]:
    """Return a picture with the sweep axis as x, and often a picture with a curve for each value of the axis.

    The first picture shows when the loss first falls below THRESHOLD, or the last value of another measure.
    The last time at which the loss exceeds THRESHOLD would depend less clearly on the swept number. In
    hadamard-128, a single row of equal entries raises the loss of EGU (unnormalised exponentiated gradient)
    above THRESHOLD again, at a random time. The second picture has the clock or an index of the measure as x.
    It is left out if there is no clock and no such index.
    """
    has_clock = experiment.protocol.extent(experiment.n).last > 0
    preset_picture = document["pictures"][0] if document["pictures"] else {"measure": {"kind": "loss"}}
    measure, indices = copy.deepcopy(preset_picture["measure"]), _indices_of_picture(experiment)
    at = {index: place for index, place in preset_picture.get("at", {}).items() if index in indices}
    shown = {"measure": measure} | ({"at": at} if at else {})
    curves: Raw = {"name": "curves", "title": f"Every {symbol}", "x": experiment.protocol.clock, **shown}
    curves["curves"] = [AXIS]
    quantity = (measure if isinstance(measure, str) else measure["kind"]).replace("-", " ")
    law: Raw = {"name": "law", "x": AXIS, "title": f"Final {quantity}, against {symbol}", **shown}
    if has_clock and measure in ("loss", {"kind": "loss"}):
        law |= {"title": f"When the loss first falls below {THRESHOLD}, against {symbol}", "y_log": True}
        law["read"] = {"first_below": THRESHOLD}
    if varying := [index for index in indices if index not in at]:
        read = experiment.pictures[0].reading if experiment.pictures else None
        if read is not None and read.over in varying:
            curves["read"] = law["read"] = copy.deepcopy(preset_picture["read"])
        else:
            law["read"] = {"over": varying[-1], "take": "last"}
            curves["x"] = varying[-1]
    return [law, curves] if has_clock or varying else [law]


def _indices_of_picture(experiment: Experiment) -> list[str]:
    """Return the indices of the measure of an experiment's first picture, such as `layer`."""
    if not experiment.pictures:
        return []
    measure = experiment.pictures[0].measure
    names = (
        index.name
        for learner in experiment.learners
        if missing(measure, experiment, learner) is None
        for index in measure.index(learner, experiment.problem)
    )
    return list(dict.fromkeys(names))
