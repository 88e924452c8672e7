"""The loss on rows never seen, by every backend that can serve it."""

import numpy as np
import pytest
from building import experiment, gd
from msgspec import structs

from engine.core import catalogue
from engine.pictures.picture import Picture
from engine.runtime.run import run

UNSEEN, SEEN = (catalogue.make("measures", "loss", rows=rows) for rows in ("test", "train"))

CASES = [
    ({}, gd(0.05)),
    ({}, {"update": "egu"}),
    ({"protocol": {"kind": "erm", "every": 4, "steps": 3}}, gd(0.05)),
    ({"target": "all"}, gd(0.05)),
    ({"matrix": {"kind": "gaussian", "n": 12}}, {"solver": "lls"}),
    ({"matrix": {"kind": "gaussian", "n": 12}}, gd(0.05, kind="dense", widths=[4])),
    (
        {"matrix": {"kind": "gaussian", "n": 12}, "protocol": {"kind": "steps", "steps": 3, "train": 7}},
        gd(0.1),
    ),
]


@pytest.mark.parametrize(("words", "learner"), CASES)
@pytest.mark.parametrize("path", ["auto", "dense"])
def test_the_unseen_loss_does_not_depend_on_measuring_the_train_loss(words, learner, path):
    setup = experiment(d=8, learners={"it": learner}, path=path, **words)
    alone, beside = (
        run(structs.replace(setup, pictures=tuple(Picture(measure=measure) for measure in measures)))
        .curves[0]
        .values("unseen")
        for measures in ((UNSEEN,), (UNSEEN, SEEN))
    )
    assert np.isfinite(alone).any()
    np.testing.assert_allclose(alone, beside, rtol=1e-6)
