"""Marks that are expressions of axes: one for every curve, or a line along the axes that are drawn."""

import numpy as np
import pytest
from building import gd, raw

from engine.core.parts import BadInput
from engine.pictures.picture import Marked
from engine.results.results import Results
from engine.results.views import view
from engine.spec.documents import sweep_of

ETAS = (0.05, 0.1, 0.2)
RATES = {"name": "eta", "values": list(ETAS)}
SIZES = {"name": "size", "values": [4, 8]}


def marks(picture, mark, *axes):
    described = raw(loss="square", learners={"GD": gd("eta")}, d="size" if SIZES in axes else 4)
    pictures = [{"measure": "loss", "marks": [{"name": "it", **mark}], **picture}]
    sweep = sweep_of(described | {"axes": list(axes), "pictures": pictures})
    return view(sweep.experiment.pictures[0], Results(sweep)).axes.marks


def test_each_curve_has_its_own_mark():
    assert marks({"x": "k", "curves": "eta"}, {"y": "2/eta"}, RATES) == [
        Marked("it, η = 0.05", (), (40.0,), "it", (0,)),
        Marked("it, η = 0.1", (), (20.0,), "it", (1,)),
        Marked("it, η = 0.2", (), (10.0,), "it", (2,)),
    ]


def test_a_mark_that_depends_on_the_x_axis_is_a_line():
    assert marks({"x": "eta"}, {"y": "2/eta"}, RATES) == [Marked("it", ETAS, (40.0, 20.0, 10.0), "it", ())]
    (squared,) = marks({"x": "eta^2"}, {"y": "2/eta"}, RATES)
    np.testing.assert_allclose(squared.x, np.square(ETAS))


def test_a_constant_mark_is_straight_and_drawn_once():
    assert marks({"x": "k", "curves": "eta"}, {"y": "d/2"}, RATES) == [Marked("it", y=(2.0,), kind="it")]
    assert marks({"x": "eta"}, {"x": 0.1}, RATES) == [Marked("it", x=(0.1,), kind="it")]


def test_a_mark_on_a_heat_map_runs_along_either_axis():
    over = {"x": "eta", "y": "size"}
    assert marks(over, {"y": "1/eta"}, RATES, SIZES) == [Marked("it", ETAS, (20.0, 10.0, 5.0), "it", ())]
    assert marks(over, {"x": "1/size"}, RATES, SIZES) == [Marked("it", (0.25, 0.125), (4.0, 8.0), "it", ())]


def test_a_mark_has_a_line_for_each_value_of_the_split_axis():
    drawn_marks = marks({"x": "eta", "curves": "size"}, {"y": "size/eta"}, RATES, SIZES)
    assert drawn_marks == [
        Marked("it, size = 4", ETAS, (80.0, 40.0, 20.0), "it", (0,)),
        Marked("it, size = 8", ETAS, (160.0, 80.0, 40.0), "it", (1,)),
    ]


@pytest.mark.parametrize(
    ("picture", "mark", "right"),
    [
        ({"x": "eta"}, {"x": "2*eta"}, "they may not depend on axes"),
        ({"x": "eta", "y": "size"}, {"y": "size/2"}, "they may depend only on eta"),
        ({"x": "k", "y": "eta", "at": {"size": 4}}, {"y": "2/eta"}, "they may not depend on axes"),
        ({"x": "eta", "curves": "size"}, {"x": "eta/2"}, "they may depend only on size"),
    ],
)
def test_a_mark_with_several_places_is_refused(picture, mark, right):
    with pytest.raises(BadInput) as caught:
        marks(picture, mark, RATES, *([SIZES] if "size" in str(picture) else []))
    assert caught.value.where == "pictures[0].marks[0]"
    assert caught.value.fault.endswith(f"; {right}")


def test_a_level_that_names_an_axis_is_refused():
    contours = [{"line": "ri-signed", "level": "eta"}]
    with pytest.raises(BadInput, match=r"the picture at .* differs from that at the first sweep point"):
        marks({"x": "k", "y": "eta", "contours": contours}, {"x": 1}, RATES)
