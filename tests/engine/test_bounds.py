"""Bounds: their formulas, the problems that they hold on, and the learners that they bind."""

import math
import re
from functools import cache
from typing import get_args

import numpy as np
import pytest
from building import LLS, data_of, experiment, gd, part, spectrum_of, weights
from discovery import LEARNERS, asked, in_turns
from looping import looped
from naive import rank_bound, sylvester

from engine.core import catalogue
from engine.core.streams import Streams
from engine.planning.run_plan import plan_run
from engine.problems import examples
from engine.problems.examples import DrawnLabels
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import prepare, run
from engine.spec.experiment import of_run
from engine.symmetry.verdict import verdict
from engine.theory import Direction, RunData, on_problem

EGU = {"update": "egu"}
NET = {"update": "gd", "architecture": {"kind": "dense", "widths": [8]}}
NTK = gd(0.1, kind="dense", widths=[8], parametrisation="ntk")
AUTOMATIC = {
    "AGD": {"update": {"kind": "agd", "loss_scale": 0.5}, "architecture": {"kind": "dense", "widths": [8]}}
}
PRIVATE = {"matrix": {"kind": "wilson", "n": 9}, "target": "classes", "d": None}
OF_UNSEEN = "all-positive", "shortest-private"
DERIVED = "agd-majoriser", "agd-rate"
EVERY_STEP = {"kind": "steps", "steps": 4, "records": 4}
DRAWN = {"kind": "one-pass", "replacement": True}
TWO = {"learners": {"GD": gd(0.01), "EGU": EGU}}
RELU = gd(0.1, kind="relu-layer", width=5)
NUMBERS = {"matrix": "interval", "target": "function", "d": None, "protocol": {"kind": "steps", "train": 6}}
SQUARE = gd(0.1, kind="factorised", init="identity")
THREE_OF_FOUR = {
    "matrix": {"kind": "entries", "factors": [2, 2], "permute": False},
    "target": {"kind": "weights", "w": [0, 1, 1, 7]},
    "protocol": {"kind": "flow", "train": 3},
    "d": None,
}
PENALISED = {"net": gd(0.1, kind="relu-layer", l2_penalty=0.1)}
OF_NUMBERS = "interpolation-norm", "linear-spline", "penalised-norm", "penalised-objective"

UPPER = {
    "matrix": "hadamard01",
    "protocol": {"kind": "one-pass", "replacement": True, "average": True, "clip": 1.0},
}
BENT_NET = gd(0.1, kind="dense", widths=[8], activation="relu", cw=2, cb=1)
CLASSES = {
    "matrix": {"kind": "clusters", "classes": 3, "d": 4, "n": 12, "normalised": True},
    "target": "classes",
    "protocol": {"kind": "steps", "steps": 5, "train": 9},
    "d": None,
}
FEATURES = {
    "matrix": {"kind": "unconstrained", "classes": 3, "each": 2},
    "target": "classes",
    "loss": "cross-entropy",
    "protocol": {"kind": "steps", "steps": 5},
    "d": None,
}
FREE = {"kind": "dense", "widths": [4], "outputs": "m", "l2_penalty": 0.1}
FIRST_LAYER = gd(0.1, kind="dense", widths=[5], activation="softplus", outputs="m") | {
    "layer_rates": {"W2": 0.0}
}
ONE_OUTPUT = gd(0.1, kind="dense", widths=[5], activation="tanh") | {"layer_rates": {"W2": 0.0}}
KERNEL_REGIME = "lazy-loss", "lazy-movement"
BOUND = {
    "information-bound": {"net": FIRST_LAYER},
    **{kind: {"net": ONE_OUTPUT} for kind in KERNEL_REGIME},
    "two-layer-gap": {"net": gd(0.5, kind="two-layer-decoder")},
    "svd-two-layer": {
        "net": NET,
        "decoder": gd(0.5, kind="two-layer-decoder"),
        "identity": gd(0.1, kind="dense", widths=[9], init="identity"),
        "all edges": gd(0.1, kind="sparse-input", connectivity=8, width=9),
    },
    "multiplicative": {"EGU": {"update": {"kind": "egu", "lr": 0.5}}, "spindly": gd(0.125, kind="spindly")},
    "hebb-limit": {"Hebb": {"solver": "hebb"}},
    "lls-limit": {"LLS": LLS},
    "tanh-lls-limit": {"tanh": {"solver": "tanh-lls"}},
    "ridge-limit": {"ridge": {"solver": {"kind": "ridge", "lam": 8 * (math.pi / 2 - 1)}}},
    "max-margin-limit": {"margin": {"solver": "max-margin"}},
    "layer-recursion": {"net": NET},
    "layer-recursion-finite": {"net": gd(0.1, kind="dense", widths=[8], activation="relu")},
    "layer-fluctuation": {"net": gd(0.1, kind="dense", widths=[8], activation="relu")},
    "layer-fluctuation-wide": {"net": NET},
    "tangent-norm-mean": {"net": NTK},
    "tangent-recursion": {"net": NTK},
    "input-gradient-mean": {"net": NET},
    "input-gradient-fluctuation": {"net": NTK},
    "layer-log-mean": {"net": NET, "ReLU": gd(0.1, kind="dense", widths=[32], activation="relu")},
    "layer-log-variance": {"net": NET, "ReLU": gd(0.1, kind="dense", widths=[32], activation="relu")},
    "chi-perp": {"net": NET},
    "correlation-recursion": {"net": NET},
    "johnson-lindenstrauss": {"net": NET},
    "distortion-limit": {"net": NET},
    "pieces-one-layer": {"net": BENT_NET},
    "pieces-wide": {"net": BENT_NET},
    "zaslavsky": {"net": BENT_NET},
    "two-over-eta": {"GD": gd(0.01)},
    "rank-two-layer": {"net": NET, "all edges": gd(0.1, kind="sparse-input", connectivity=9)},
    "agd-majoriser": AUTOMATIC,
    "all-positive": {"GD": gd(0.01), "sign": {"update": "sign"}},
    "shortest-private": {"GD": gd(0.01), "LLS": LLS},
    "agd-rate": AUTOMATIC,
    "collapsed-cross-entropy": {"net": gd(0.1, **FREE)},
    "catapult-loss": {"net": NET, "NTK": NTK},
    "catapult-sharpness": {"net": NET, "NTK": NTK},
    "catapult-limit": {"net": {**NET, "rate_unit": "start-sharpness"}},
    "valley-drift": {"GD": gd(0.01, kind="valley"), "SGD": gd(0.01, kind="valley", v0=2)},
    "scalar-steps": {"AdaGrad": {"update": "adagrad"}, "sign": {"update": "sign"}},
    "lazy-flow": {"GD": {"update": "gd"}, "u² − v²": gd(0.1, kind="spindly", signed=True)},
    "alignment": {
        "net": NET,
        "of features": {"update": "gd", "architecture": {"kind": "normalised", "widths": [8]}},
    },
    "parity-gradient": {"net": gd(0.1, kind="dense", activation="relu", widths=[4])},
    "percolation-limit": {"path": {"solver": {"kind": "path-rule", "side": 4, "count": 2}}},
    "rank-doubling": {"EGU": EGU, "spindly": gd(0.1, kind="spindly"), "GD": gd(0.01)},
    "fluctuation-dissipation": {"GD": gd(0.01), "net": NET},
    "linear-spline": {"net": RELU},
    "gp-band": {"kernel": {"solver": {"kind": "kernel", "lam": 0.1}}},
    "interpolation-norm": {"net": RELU, "dense": gd(0.1, kind="dense", activation="relu", biases=True)},
    "penalised-norm": PENALISED,
    "penalised-objective": PENALISED,
    "missing-entry": {"W": SQUARE, "three": gd(0.1, kind="factorised", init="identity", depth=3)},
    "junk-flow": {"net": {**NET, "noise": {"on": "weights", "sigma": 0.1}}},
}
"""Learners that a bound binds; the others bind gradient descent and least squares."""

HALF_SPACE = {"matrix": "gaussian", "labels": "sign"}

ONE_EXAMPLE = {
    "matrix": {"kind": "sphere", "n": 1},
    "target": "constant",
    "protocol": {"kind": "steps", "steps": 3},
}
CATAPULT = ("catapult-loss", "catapult-sharpness", "catapult-limit")
FLOW = {"matrix": "gaussian", "protocol": {"kind": "flow", "time": 1}}
CUBE = {"matrix": {"kind": "xor", "features": "bits"}, "protocol": "at-init"}

BATCHES = {"matrix": "gaussian", "noise": 0.1}
PARITY = {
    "matrix": {"kind": "xor", "features": "bits"},
    "target": {"kind": "sparse", "r": 1},
    "protocol": {"kind": "steps", "steps": 5, "records": 5},
}

FLUCTUATIONS = ("layer-fluctuation", "layer-fluctuation-wide", "layer-log-mean", "layer-log-variance")
OF_ONE_INPUT = (*FLUCTUATIONS, "input-gradient-fluctuation")
OF_PAIRS = ("correlation-recursion", "tangent-recursion")
OF_GRADIENTS = ("tangent-norm-mean", "input-gradient-mean")
OF_NETS = ("layer-recursion", "layer-recursion-finite", "chi-perp", *OF_GRADIENTS)
"""They ask something of the learner alone, and hold on every problem."""


NOISY_VALLEY = {"matrix": "rademacher", "target": "zero", "noise": 0.5}
EIGENVALUES = ("marchenko-pastur", "wishart-inverse")
COVERINGS = ("covering-volume", "covering-packing")
OF_INSTANCES = (*EIGENVALUES, *COVERINGS, "expected-features")
"""They are about the instances alone, and bind every learner."""

PIECES = ("pieces-one-layer", "pieces-wide")
NUMBERS = {"matrix": {"kind": "interval", "n": 3}, "target": "coin", "d": None, "protocol": "at-init"}


def outer(*factors, **words):
    """Products of these factors."""
    return {"matrix": {"kind": "outer", "factors": list(factors)}, "d": None, **words}


DECODER = gd(0.5, kind="two-layer-decoder")
HALVES = {
    "matrix": "ordered-hadamard",
    "target": "doubled",
    "protocol": {"kind": "one-pass", "examples": 5},
}


ANY_PARITY = {"matrix": {"kind": "rademacher", "n": 30}, "target": "parity"}

OF_SOLVERS = ("hebb-limit", "lls-limit", "ridge-limit", "max-margin-limit")
"""Lines on the direction of the weights of a solver after k examples."""

OF_K_ROWS = (
    ("tanh-lls-limit", {"matrix": "rademacher"}),
    ("percolation-limit", outer(4, 4)),
    ("two-layer-gap", HALVES),
    ("scalar-steps", {}),
)
"""Lines on the loss of the hypothesis that has learned from exactly k different rows, and where they hold."""

NOT_K_ROWS = (
    ({"average": True}, "is averaged over all hypotheses"),
    ({"replacement": True}, "drawn"),
)
"""Protocols of which the loss at k is none of such a hypothesis."""

HOLDS = [
    ("collapsed-cross-entropy", FEATURES),
    ("ri-signed", {}),
    ("ri-signed", {"matrix": {"kind": "hadamard", "permute": False}}),
    ("ri-signed", {"target": "constant"}),
    ("ri-signed", {"target": "all"}),
    ("ri-signed", {"loss": "logistic"}),
    ("ri-permuted", {}),
    ("ri-permuted", {"matrix": {"kind": "hadamard", "row_signs": False}}),
    ("ri-gaussian", {"matrix": "gaussian"}),
    ("ri-gaussian", {"matrix": {"kind": "gaussian", "n": 5}}),
    ("ri-gaussian", {"matrix": "gaussian", "target": "all"}),
    ("ri-gaussian", {"matrix": "sphere"}),
    ("ri-gaussian", {"matrix": {"kind": "sphere", "n": 30, "rotate": True}, "target": "sparse"}),
    ("noise", {"matrix": "sphere", "noise": 0.1}),
    ("ri-rademacher", {"matrix": "rademacher"}),
    ("ri-rademacher", {"matrix": {"kind": "rademacher", "n": 30}}),
    ("ri-signed", {"d": 12}),
    ("ri-signed", {"matrix": "orthogonal", "target": {"kind": "sparse", "r": 16}, "d": 16}),
    ("ri-signed", {"matrix": "orthogonal"}),
    ("ri-drawn", {"matrix": "orthogonal", "protocol": DRAWN}),
    ("ri-signed", {"target": "doubled", "loss": "hinge"}),
    ("ri-signed", {"target": "doubled", "loss": "exponential", "labels": "sign"}),
    ("ri-signed", {"target": "sparse"}),
    ("ri-signed", {"target": {"kind": "sparse", "r": 3}, "labels": "sign"}),
    ("coin-labels", {"target": "coin"}),
    ("coin-labels", {"matrix": "gaussian", "target": "zero", "labels": "bernoulli", "loss": "logistic"}),
    ("ri-signed", {"labels": "bernoulli", "loss": "logistic"}),
    ("ri-signed", {"noise": 0.5}),
    ("ri-signed", {"matrix": {"kind": "hadamard", "rotate": True}}),
    ("ri-signed", {"protocol": DRAWN}),
    ("ri-permuted", {"d": 20}),
    ("ri-permuted", {"matrix": {"kind": "hadamard", "rotate": True}, "noise": 0.1}),
    ("ri-permuted", {"matrix": {"kind": "xor", "features": "products"}}),
    ("ri-permuted", {"labels": "bernoulli"}),
    ("ri-gaussian", {"matrix": "sparse", "target": "sparse", "noise": 0.1}),
    ("ri-gaussian", {"matrix": {"kind": "gaussian", "rotate": True}, "target": "doubled"}),
    ("ri-rademacher", {"matrix": "rademacher", "target": "sparse"}),
    ("tanh-lls-limit", {"matrix": "rademacher"}),
    ("tanh-lls-limit", {"matrix": {"kind": "rademacher", "n": 30, "rotate": True}, "target": "all"}),
    ("ri-01", {"matrix": "hadamard01"}),
    ("ri-01", {"matrix": {"kind": "hadamard01", "permute": False}, "target": "all"}),
    ("ri-01", {"matrix": {"kind": "hadamard01", "rotate": True}, "target": "constant", "noise": 0.2}),
    ("ri-01", {"matrix": "hadamard01", "target": {"kind": "sparse", "r": 1}, "d": 12}),
    ("ri-01", {"matrix": "hadamard01", "loss": "entropic"}),
    ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 1}}),
    ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 2, "row_signs": False, "permute": False}}),
    ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 2, "permute": False}, "loss": "hinge"}),
    ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 1}, "labels": "bernoulli", "d": 12}),
    ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 1}, "target": "sparse", "noise": 0.1}),
    ("duplicates", {"matrix": {"kind": "xor", "repeat": 1, "features": "products"}}),
    ("duplicates", {"protocol": DRAWN}),
    ("duplicates", {"matrix": {"kind": "orthogonal", "repeat": 2}}),
    ("duplicates", {"matrix": {"kind": "orthogonal", "repeat": 1, "row_signs": False}, "target": "all"}),
    ("duplicates", {"matrix": "orthogonal", "protocol": DRAWN}),
    ("duplicates", {"matrix": {"kind": "outer", "factors": [2, 4], "repeat": 1}, "d": None}),
    ("duplicates", {"matrix": {"kind": "hadamard", "repeat": 1, "row_signs": False}, "protocol": DRAWN}),
    ("noise", {"matrix": "gaussian", "noise": 0.1}),
    ("noise", {"matrix": "sparse", "target": "sparse", "noise": 0.1}),
    ("svd", {"target": "all"}),
    ("svd", {"target": "all", "matrix": "gaussian"}),
    ("svd", {"target": "doubled", "matrix": {"kind": "threshold", "repeat": 1}, "noise": 0.3}),
    ("svd", {"target": "all", "matrix": "xor"}),
    ("svd-doubled", {"target": "doubled"}),
    ("svd-doubled", {"target": "doubled", "matrix": {"kind": "gaussian", "n": 5}}),
    ("svd-two-layer", {"target": "doubled"}),
    ("svd-two-layer", {"target": "all", "matrix": "gaussian", "noise": 0.1}),
    ("multiplicative", UPPER),
    ("ri-bayes", {"matrix": "gaussian", "labels": "sign"}),
    (
        "ri-bayes",
        {"matrix": {"kind": "gaussian", "n": 30, "rotate": True}, "labels": "sign", "target": "sparse"},
    ),
    ("hebb-limit", HALF_SPACE),
    ("lls-limit", HALF_SPACE),
    ("ridge-limit", HALF_SPACE),
    ("max-margin-limit", HALF_SPACE),
    *((kind, {"protocol": "at-init"}) for kind in OF_NETS),
    *((kind, {"matrix": {"kind": "sphere", "n": 1}, "protocol": "at-init"}) for kind in OF_ONE_INPUT),
    *((kind, {"matrix": "pair", "protocol": "at-init"}) for kind in OF_PAIRS),
    ("johnson-lindenstrauss", {"protocol": "at-init"}),
    *((kind, {"matrix": {"kind": "ball", "d": 2}, "target": "coin", "d": None}) for kind in COVERINGS),
    ("covering-volume", {"matrix": {"kind": "ball", "rotate": True}}),
    ("distortion-limit", {"matrix": "gaussian", "protocol": "at-init"}),
    *((kind, NUMBERS) for kind in PIECES),
    ("zaslavsky", {"protocol": "at-init"}),
    ("two-over-eta", {"protocol": "steps"}),
    *((kind, {**PRIVATE, "protocol": {"kind": "steps", "train": 6}}) for kind in OF_UNSEEN),
    *((kind, {"protocol": EVERY_STEP}) for kind in DERIVED),
    *((kind, ONE_EXAMPLE) for kind in CATAPULT),
    ("catapult-loss", {**ONE_EXAMPLE, "matrix": {"kind": "gaussian", "n": 1}, "target": "coin"}),
    ("scalar-steps", {}),
    *((kind, {"matrix": {"kind": "gaussian", "n": 6}}) for kind in EIGENVALUES),
    ("marchenko-pastur", {"matrix": "gaussian"}),
    ("expected-features", {"matrix": "ring-walk"}),
    ("valley-drift", NOISY_VALLEY),
    ("valley-drift", {**NOISY_VALLEY, "matrix": "hadamard"}),
    ("lazy-flow", FLOW),
    ("lazy-flow", {**FLOW, "target": "all", "noise": 0.1}),
    ("alignment", CUBE),
    ("alignment", {**CUBE, "target": {"kind": "feature", "index": 7}}),
    ("parity-gradient", CUBE),
    ("rank-span", {"target": "all"}),
    ("rank-span", {"target": "doubled", "matrix": "gaussian"}),
    ("rank-two-layer", {"target": "all", "matrix": "gaussian"}),
    *(
        (kind, outer(4, 4))
        for kind in ("percolation", "percolation-limit", "outer-linear", "outer-rotations")
    ),
    ("percolation", outer(4, 12, target="all", loss="logistic", labels="sign")),
    ("ladder", outer(8)),
    ("ladder", outer(2, 4, 2, protocol={"kind": "erm", "steps": 3})),
    ("outer-linear", outer(2, 2, 2, 2)),
    ("outer-rotations", outer(2, 4, 2, target="all")),
    ("ri-signed", outer(16)),
    ("two-layer-gap", HALVES),
    ("two-layer-gap", {**HALVES, "target": "all"}),
    ("rank-doubling", {"target": "all"}),
    ("rank-doubling", {"target": "all", "matrix": "hadamard01"}),
    *(
        ("fluctuation-dissipation", {**BATCHES, "protocol": {"kind": "steps", "batch": 2, draws: True}})
        for draws in ("fresh", "replacement")
    ),
    ("junk-flow", PARITY),
    *((kind, {"protocol": "steps"}) for kind in KERNEL_REGIME),
    ("information-bound", CLASSES),
    ("information-bound", {**CLASSES, "target": {"kind": "classes", "corrupted": 0.5}}),
    *((kind, NUMBERS) for kind in (*OF_NUMBERS, "gp-band")),
    ("missing-entry", THREE_OF_FOUR),
    ("parity-unknown", ANY_PARITY),
    ("ri-drawn", {"protocol": DRAWN}),
    ("ri-drawn", {"protocol": {**DRAWN, "loss": "logistic"}, "target": "doubled"}),
]

HOLDS_NOT = [
    ("collapsed-cross-entropy", CLASSES, "a separate coordinate for each instance"),
    ("collapsed-cross-entropy", {**FEATURES, "loss": "square"}, "the loss is square"),
    ("collapsed-cross-entropy", {**FEATURES, "target": "coin", "loss": "square"}, "a one-hot target"),
    (
        "collapsed-cross-entropy",
        {**FEATURES, "protocol": {"kind": "steps", "train": 5}},
        "the gradient of all rows",
    ),
    ("missing-entry", {}, "the instance matrix is hadamard"),
    ("missing-entry", {**THREE_OF_FOUR, "matrix": "entries"}, "2 × 2 matrix as instances"),
    ("missing-entry", {**THREE_OF_FOUR, "noise": 0.1}, "the labels 0, 1 and 1 without noise"),
    (
        "missing-entry",
        {**THREE_OF_FOUR, "target": {"kind": "weights", "w": [0, 1, 2]}},
        "the labels 0, 1 and 1 without noise",
    ),
    ("missing-entry", {**THREE_OF_FOUR, "protocol": "flow"}, "the first three entries"),
    ("missing-entry", {**THREE_OF_FOUR, "protocol": {"kind": "steps", "train": 3}}, "the protocol is steps"),
    *((kind, {"protocol": "steps"}, "instances of one entry") for kind in OF_NUMBERS),
    *(
        (kind, {**NUMBERS, "protocol": "one-pass"}, "the same from the first step")
        for kind in (*OF_NUMBERS, "gp-band")
    ),
    ("gp-band", {"protocol": "at-init"}, "instances of one entry"),
    *((kind, {**NUMBERS, "loss": "logistic", "labels": "sign"}, "the loss is") for kind in OF_NUMBERS[2:]),
    ("parity-unknown", {"matrix": "rademacher"}, "not feature"),
    (
        "parity-unknown",
        {**ANY_PARITY, "target": {"kind": "parity", "degree": 2}},
        "parities of all sets of bits",
    ),
    ("parity-unknown", {**ANY_PARITY, "noise": 0.1}, "noise is added"),
    ("parity-unknown", {**ANY_PARITY, "matrix": "xor"}, "the matrix is xor"),
    *((kind, {}, "these have 8") for kind in PIECES),
    ("zaslavsky", NUMBERS, "two entries or more"),
    ("ri-signed", {"matrix": {"kind": "hadamard", "row_signs": False}}, "`row_signs` is off"),
    ("ri-signed", {"matrix": "gaussian"}, "the matrix is gaussian"),
    ("ri-permuted", {"matrix": {"kind": "hadamard", "permute": False}}, "`permute` is off"),
    ("ri-permuted", {"matrix": "rademacher"}, "the matrix is rademacher"),
    ("ri-permuted", {"target": {"kind": "feature", "index": 0}}, "not the constant one"),
    ("ri-permuted", {"target": "constant"}, "not the constant one"),
    ("ri-permuted", {"target": "all"}, "one fixed feature"),
    ("ri-permuted", {"loss": "logistic"}, "the loss is logistic"),
    ("ri-gaussian", {}, "the matrix is hadamard"),
    ("ri-gaussian", {"matrix": "gaussian", "target": "constant"}, "here it is constant"),
    ("ri-rademacher", {"matrix": "gaussian"}, "the matrix is gaussian"),
    ("ri-rademacher", {"matrix": "rademacher", "loss": "logistic"}, "the loss is logistic"),
    ("tanh-lls-limit", {}, "the matrix is hadamard"),
    ("tanh-lls-limit", {"matrix": "rademacher", "target": "sparse"}, "these labels are not"),
    (
        "tanh-lls-limit",
        {"matrix": "rademacher", "target": {"kind": "parity", "degree": 3}},
        "these labels are not",
    ),
    ("tanh-lls-limit", {"matrix": {"kind": "rademacher", "repeat": 1}}, "here they are repeated"),
    ("ri-signed", {"matrix": {"kind": "hadamard", "repeat": 1}}, "here they are repeated"),
    ("ri-signed", {"matrix": "hadamard01"}, "the matrix is hadamard01"),
    ("ri-signed", {"matrix": "xor"}, "the matrix is xor"),
    ("ri-signed", {"target": "sparse", "matrix": {"kind": "hadamard", "permute": False}}, "random order"),
    (
        "ri-signed",
        {"target": {"kind": "sparse", "r": 4}, "labels": "sign"},
        "sign(0) = +1 of a row x is also",
    ),
    ("ri-signed", {"target": "parity"}, "labels of parity on hadamard do not"),
    ("coin-labels", {}, "the target is feature"),
    ("coin-labels", {"target": {"kind": "coin", "classes": 3}}, "the target is coin"),
    ("coin-labels", {"target": "zero"}, "the target is zero"),
    ("ri-permuted", {"matrix": "xor"}, "the matrix is xor"),
    ("ri-permuted", {"matrix": {"kind": "hadamard", "repeat": 1}}, "here they are repeated"),
    ("ri-gaussian", {"matrix": "gaussian", "labels": "sign"}, "here they are sign"),
    ("ri-gaussian", {"matrix": {"kind": "gaussian", "repeat": 1}}, "here they are repeated"),
    ("ri-gaussian", {"matrix": "threshold"}, "the matrix is threshold"),
    ("ri-gaussian", {"matrix": {"kind": "sphere", "repeat": 1}}, "here they are repeated"),
    ("ri-gaussian", {"matrix": "sphere", "target": "constant"}, "here it is constant"),
    ("ri-01", {}, "the matrix is hadamard"),
    ("ri-01", {"matrix": {"kind": "hadamard01", "row_signs": False}}, "`row_signs` is off"),
    ("ri-01", {"matrix": {"kind": "hadamard01", "repeat": 1}}, "here they are repeated"),
    ("ri-01", {"matrix": "hadamard01", "target": "sparse"}, "the target is sparse"),
    ("ri-01", {"matrix": "hadamard01", "target": "doubled"}, "the target is doubled"),
    ("multiplicative", {"matrix": {"kind": "hadamard01", "repeat": 1}}, "features with the values 0 and 1"),
    ("duplicates", {}, "set `repeat` or `replacement`"),
    ("duplicates", {"matrix": {"kind": "gaussian", "repeat": 1}}, "the matrix is gaussian"),
    ("duplicates", {"matrix": {"kind": "xor", "repeat": 1}}, "the matrix is xor"),
    (
        "duplicates",
        {"matrix": {"kind": "hadamard", "row_signs": False}, "protocol": DRAWN},
        "`row_signs` is off",
    ),
    (
        "duplicates",
        {"matrix": {"kind": "hadamard", "repeat": 1, "permute": False}, "target": "sparse"},
        "random order",
    ),
    ("noise", {"matrix": "gaussian"}, "the noise σ is 0"),
    ("noise", {"noise": 0.1}, "the matrix is hadamard"),
    ("noise", {"matrix": "gaussian", "noise": 0.1, "target": "constant"}, "here it is constant"),
    ("svd", {}, "there is one"),
    ("svd", {"target": "all", "loss": "logistic"}, "the loss is logistic"),
    (
        "svd",
        {"matrix": "hadamard01", "target": "all", "protocol": {"kind": "one-pass", "clip": 1.0}},
        "clipped predictions are not linear",
    ),
    ("svd-doubled", {"target": "all"}, "not all"),
    ("svd-doubled", {"target": "doubled", "loss": "hinge"}, "the loss is hinge"),
    ("multiplicative", {}, "features with the values 0 and 1"),
    ("multiplicative", {"matrix": "hadamard01"}, "set `replacement`, `average` and clip"),
    ("svd-two-layer", {}, "there is one"),
    ("svd-two-layer", {"target": "all", "loss": "logistic"}, "the loss is logistic"),
    *((kind, {**ONE_EXAMPLE, "matrix": "gaussian"}, "one example and one target") for kind in CATAPULT),
    *((kind, {**ONE_EXAMPLE, "protocol": "one-pass"}, "along the whole gradient") for kind in CATAPULT),
    *(
        (kind, {**ONE_EXAMPLE, "protocol": {"kind": "steps", "steps": 3, "loss": "logistic"}}, "square loss")
        for kind in CATAPULT
    ),
    ("scalar-steps", {"matrix": "orthogonal"}, "orthogonal rows of ±1"),
    ("scalar-steps", {"matrix": {"kind": "hadamard", "rotate": True}}, "orthogonal rows of ±1"),
    ("scalar-steps", {"matrix": {"kind": "hadamard", "repeat": 2}}, "repeated"),
    ("scalar-steps", {"loss": "logistic"}, "the loss is logistic"),
    ("scalar-steps", {"noise": 0.1}, "requires labels ±1"),
    *((kind, {}, "the matrix is hadamard") for kind in (*EIGENVALUES, "expected-features")),
    ("expected-features", {"matrix": {"kind": "ring-walk", "rotate": True}}, "the matrix is ring-walk"),
    ("expected-features", {"matrix": {"kind": "ring-walk", "repeat": 1}}, "the matrix is ring-walk"),
    ("marchenko-pastur", {"matrix": {"kind": "gaussian", "n": 9}}, "at most 8 rows"),
    ("wishart-inverse", {"matrix": {"kind": "gaussian", "n": 7}}, "at most 6 rows"),
    ("valley-drift", {**NOISY_VALLEY, "matrix": "gaussian"}, "the matrix is gaussian"),
    ("valley-drift", {**NOISY_VALLEY, "matrix": {"kind": "rademacher", "repeat": 1}}, "repeated"),
    ("valley-drift", {**NOISY_VALLEY, "noise": 0}, "noise only"),
    ("valley-drift", {**NOISY_VALLEY, "target": "feature"}, "noise only"),
    ("valley-drift", {**NOISY_VALLEY, "protocol": "steps"}, "each seen only once"),
    (
        "valley-drift",
        {**NOISY_VALLEY, "protocol": {"kind": "one-pass", "replacement": True}},
        "each seen only once",
    ),
    ("scalar-steps", {"protocol": {"kind": "one-pass", "batch": 2}}, "single rows"),
    ("scalar-steps", {"protocol": {"kind": "one-pass", "replacement": True}}, "some rows occur twice"),
    ("scalar-steps", {"protocol": {"kind": "one-pass", "average": True}}, "is averaged over all hypotheses"),
    ("lazy-flow", {"matrix": "gaussian"}, "requires gradient flow"),
    ("lazy-flow", {**FLOW, "protocol": {**FLOW["protocol"], "train": 5}}, "requires training on all rows"),
    ("lazy-flow", {**FLOW, "loss": "logistic", "labels": "sign"}, "the loss is logistic"),
    *(
        (kind, {"matrix": {"kind": "sphere", "n": 1}, "protocol": "at-init"}, "two inputs")
        for kind in OF_PAIRS
    ),
    ("johnson-lindenstrauss", {"matrix": {"kind": "sphere", "n": 1}, "protocol": "at-init"}, "two points"),
    ("distortion-limit", {"matrix": "sphere", "protocol": "at-init"}, "the matrix is sphere"),
    ("distortion-limit", {"matrix": {"kind": "gaussian", "n": 1}, "protocol": "at-init"}, "two points"),
    *((kind, {}, "the matrix is hadamard") for kind in COVERINGS),
    *((kind, {"matrix": {"kind": "ball", "repeat": 1}}, "the matrix is ball") for kind in COVERINGS),
    ("covering-packing", {"matrix": {"kind": "ball", "d": 3}, "target": "coin", "d": None}, "d is 3"),
    *((kind, {"protocol": "at-init"}, "one input") for kind in OF_ONE_INPUT),
    *((kind, {"matrix": {"kind": "gaussian", "n": 1}}, "same length") for kind in OF_ONE_INPUT),
    ("alignment", {"protocol": "at-init"}, "the matrix is hadamard"),
    ("alignment", {**CUBE, "target": "all"}, "there are several"),
    ("alignment", {**CUBE, "protocol": "one-pass"}, "a learner at its start"),
    ("parity-gradient", {"protocol": "at-init"}, "the matrix is hadamard"),
    ("parity-gradient", {**CUBE, "target": "all"}, "the target is all"),
    ("parity-gradient", {**CUBE, "noise": 0.3}, "labels without noise"),
    ("parity-gradient", {**CUBE, "labels": "bernoulli"}, "labels without noise"),
    ("ri-bayes", {"labels": "sign"}, "the matrix is hadamard"),
    ("ri-bayes", {"matrix": "gaussian"}, "these labels are soft"),
    ("ri-bayes", {**HALF_SPACE, "noise": 0.1}, "these labels are noisy"),
    ("ri-bayes", {**HALF_SPACE, "labels": "bernoulli"}, "these labels are bernoulli"),
    ("ri-bayes", {**HALF_SPACE, "target": "constant"}, "not constant"),
    ("hebb-limit", {"matrix": {"kind": "gaussian", "repeat": 1}, "labels": "sign"}, "the matrix is gaussian"),
    *(
        (kind, {**words, "protocol": {**part(words.get("protocol", "one-pass")), **protocol}}, reason)
        for kind, words in OF_K_ROWS
        for protocol, reason in NOT_K_ROWS
    ),
    *(
        (kind, {**HALF_SPACE, "protocol": protocol}, reason)
        for kind in OF_SOLVERS
        for protocol, reason in (
            (DRAWN, "some rows occur twice"),
            ({"kind": "one-pass", "batch": 2}, "each update needs 2 examples"),
            ({"kind": "steps", "batch": 2}, "mini-batches in random order"),
        )
    ),
    ("lls-limit", {"labels": "sign", "matrix": "rademacher"}, "the matrix is rademacher"),
    ("ridge-limit", {"matrix": "rademacher", "labels": "sign"}, "the matrix is rademacher"),
    ("max-margin-limit", {"labels": "sign"}, "the matrix is hadamard"),
    ("two-over-eta", {}, "not one-pass"),
    ("rank-span", {}, "there is one"),
    ("rank-two-layer", {}, "there is one"),
    ("two-layer-gap", {"target": "doubled"}, "the matrix is hadamard"),
    ("two-layer-gap", {**HALVES, "protocol": "one-pass"}, "one pass over at most the first"),
    ("two-layer-gap", {**HALVES, "protocol": "erm"}, "one pass over at most the first"),
    ("two-layer-gap", {**HALVES, "noise": 0.1}, "requires features as targets"),
    ("percolation", {}, "and the matrix is hadamard"),
    ("percolation", outer(4, 2, 2), "there are 3"),
    ("percolation", {"matrix": {"kind": "outer", "row_signs": False}, "d": None}, "outer with row_signs on"),
    ("percolation-limit", {"matrix": {"kind": "outer", "permute": False}, "d": None}, "`permute` is off"),
    ("ladder", outer(4, 4), "percolation is the same bound"),
    ("ladder", outer(4, protocol=DRAWN), "in the order of the data"),
    ("percolation", outer(4, 4, target="parity"), "change sign if their rows do"),
    ("outer-linear", outer(4, 4, loss="logistic", labels="sign"), "the loss is logistic"),
    ("outer-rotations", outer(16), "ri-signed is stronger"),
    ("ri-signed", outer(4, 4), "rows of outer that share a factor share its sign"),
    ("ri-permuted", outer(4, 4), "the matrix is outer"),
    ("rank-doubling", {}, "there is one"),
    ("rank-doubling", {"target": "all", "matrix": "gaussian"}, "entries of two values"),
    ("rank-doubling", {"target": "all", "matrix": {"kind": "hadamard", "rotate": True}}, "two values"),
    ("fluctuation-dissipation", {**BATCHES, "protocol": "steps"}, "drawn independently"),
    (
        "fluctuation-dissipation",
        {**BATCHES, "protocol": {"kind": "steps", "batch": 2}},
        "as in the protocol `steps` with `fresh` or `replacement`",
    ),
    *(
        (kind, words, reason)
        for kind in OF_UNSEEN
        for words, reason in (
            ({}, "the matrix is hadamard"),
            ({**PRIVATE, "target": "feature"}, "here they are any"),
            ({**PRIVATE, "protocol": "steps"}, "set `train`"),
            ({**PRIVATE, "protocol": {"kind": "steps", "train": 6, "batch": 2}}, "set `train`"),
        )
    ),
    ("shortest-private", {**PRIVATE, "protocol": {"kind": "steps", "train": 6, "loss": "hinge"}}, "square"),
    *(
        (kind, {"protocol": protocol}, reason)
        for kind in DERIVED
        for protocol, reason in (
            ("one-pass", "over all rows"),
            ({**EVERY_STEP, "train": 4}, "over all rows"),
            ({**EVERY_STEP, "batch": 2}, "over all rows"),
            ({**EVERY_STEP, "records": 2}, "records = steps"),
            ({**EVERY_STEP, "loss": "logistic"}, "the loss is logistic"),
        )
    ),
    ("ri-drawn", {}, "drawn with replacement"),
    ("ri-drawn", {"matrix": "gaussian", "protocol": DRAWN}, "the matrix is gaussian"),
    (
        "ri-drawn",
        {"matrix": {"kind": "hadamard", "row_signs": False}, "protocol": DRAWN},
        "`row_signs` is off",
    ),
    ("ri-drawn", {"matrix": {"kind": "hadamard", "repeat": 1}, "protocol": DRAWN}, "they are repeated"),
    ("junk-flow", {**PARITY, "matrix": "hadamard"}, "the matrix is hadamard"),
    *(
        (kind, words, reason)
        for kind in KERNEL_REGIME
        for words, reason in (
            ({}, "along the whole gradient"),
            ({"protocol": {"kind": "steps", "train": 3}}, "training on all rows"),
            ({"protocol": "steps", "target": "all"}, "one target"),
            ({"protocol": {"kind": "steps", "loss": "logistic"}}, "requires square loss"),
        )
    ),
    ("information-bound", {**CLASSES, "protocol": "one-pass"}, "along the gradient over all training rows"),
    ("information-bound", {**CLASSES, "protocol": {"kind": "epochs", "train": 9}}, "requires steps"),
    (
        "information-bound",
        {**CLASSES, "protocol": {"kind": "steps", "steps": 5}},
        "all rows are training rows",
    ),
    ("information-bound", {"protocol": {"kind": "steps", "train": 3}}, "the target is feature"),
    ("information-bound", {**CLASSES, "loss": "cross-entropy"}, "the loss is cross-entropy"),
    ("junk-flow", {**PARITY, "target": "feature"}, "not feature"),
    ("junk-flow", {**PARITY, "target": {"kind": "sparse", "r": 2}}, "not sparse"),
    ("junk-flow", {**PARITY, "protocol": "one-pass"}, "along the gradient over all rows"),
    ("junk-flow", {**PARITY, "protocol": {**PARITY["protocol"], "train": 4}}, "over all rows"),
    ("junk-flow", {**PARITY, "protocol": {**PARITY["protocol"], "records": 2}}, "records = steps"),
    ("junk-flow", {**PARITY, "loss": "logistic"}, "the loss is logistic"),
]

BINDS_NOT = [
    ("collapsed-cross-entropy", LLS, "gradient descent on a net"),
    ("collapsed-cross-entropy", gd(0.1, **{**FREE, "activation": "tanh"}), "two linear layers"),
    ("collapsed-cross-entropy", gd(0.1, **{**FREE, "biases": True}), "without biases"),
    ("collapsed-cross-entropy", gd(0.1, **{**FREE, "l2_penalty": 0.0}), "an L2 penalty"),
    ("gp-band", {"solver": "kernel"}, "kernel ridge regression with a penalty"),
    ("gp-band", {"solver": "random-features"}, "kernel ridge regression with a penalty"),
    ("missing-entry", gd(0.1, kind="factorised"), "a product of square matrices"),
    (
        "missing-entry",
        gd(0.1, kind="factorised", init="identity", factors=[8, 16]),
        "a product of square matrices",
    ),
    ("missing-entry", {**SQUARE, "update": "sign"}, "gradient flow of the loss alone"),
    *((kind, LLS, "one hidden layer of relu units") for kind in OF_NUMBERS),
    *((kind, RELU, "has none") for kind in OF_NUMBERS[2:]),
    (
        "interpolation-norm",
        gd(0.1, kind="dense", activation="relu", biases=True, l2_penalty=0.1),
        "no penalty",
    ),
    ("parity-unknown", {"update": {"kind": "gd", "lr": "best"}}, "chosen by its losses"),
    ("coin-labels", {"update": {"kind": "gd", "lr": "best"}}, "chosen by its losses"),
    ("ri-signed", EGU, "not rotation invariant"),
    ("ri-signed", gd(0.1, kind="spindly"), "has a separate edge"),
    ("ri-permuted", {"update": "eg"}, "not rotation invariant"),
    ("ri-gaussian", {"update": "hypentropy"}, "not rotation invariant"),
    ("ri-rademacher", NET, "not a single linear neuron"),
    ("ri-rademacher", gd(0.1, kind="neuron", activation="tanh"), "not a single linear neuron"),
    ("ri-rademacher", EGU, "not linear in the gradients"),
    ("ri-rademacher", {"update": "adagrad-full"}, "not linear in the gradients"),
    ("ri-rademacher", {"update": {"kind": "gd", "lr": "best"}}, "chosen by the losses"),
    ("ri-rademacher", {**gd(0.1), "clip": {"norm": 1.0}}, " are clipped"),
    ("ri-rademacher", {**gd(0.1), "decay": {"rate": 0.1, "p": "1"}}, "only on the signs of weights"),
    ("ri-rademacher", {"solver": "tanh-lls"}, "not known to be linear"),
    ("ri-rademacher", {"solver": "basis-pursuit"}, "not known to be linear"),
    ("tanh-lls-limit", LLS, "the loss of the solver `tanh-lls`, not of it"),
    ("svd", NET, "single linear neuron"),
    ("svd", {"update": "egu-pm"}, "leave the span"),
    ("svd", gd(0.1, kind="neuron", activation="tanh"), "transfer tanh"),
    ("svd", gd(0.1, kind="neuron", activation="identity", init="gaussian"), "start at 0"),
    ("svd", {"solver": "basis-pursuit"}, "leave the span"),
    ("ri-01", EGU, "not rotation invariant"),
    ("duplicates", EGU, "not rotation invariant"),
    ("noise", {"solver": "lasso"}, "not rotation invariant"),
    ("svd-doubled", NET, "single linear neuron"),
    ("svd-doubled", {"update": "hypentropy"}, "leave the span"),
    ("multiplicative", {"update": "gd"}, "requires EGU or the spindly net"),
    ("multiplicative", {"update": {"kind": "egu", "lr": 0.4}}, "needs 1/3 or 1/2"),
    *(
        ("multiplicative", {"update": {"kind": "egu", "lr": 0.5}, **more}, reason)
        for more, reason in (
            ({"rate_unit": "start-sharpness"}, "are multiples of a unit"),
            ({"rate_unit": "start-jacobian"}, "are multiples of a unit"),
            ({"schedule": {"kind": "linear", "steps": 5}}, "has a schedule, clipping, noise or decay"),
            ({"layer_rates": {"w": 0.5}}, "one rate for all layers"),
        )
    ),
    ("svd-two-layer", {"update": "gd"}, "two fully connected linear layers"),
    ("svd-two-layer", LLS, "is a solver"),
    (
        "svd-two-layer",
        gd(0.1, kind="sparse-input", connectivity=8),
        "two fully connected linear layers",
    ),
    (
        "svd-two-layer",
        gd(0.1, kind="sparse-input", connectivity=999, activation="relu"),
        "sparse-input with transfer relu",
    ),
    ("svd-two-layer", gd(0.1, kind="dense", cb=0.1), "has biases"),
    ("svd-two-layer", gd(0.1, kind="dense", widths=[4, 4]), "two fully connected linear layers"),
    ("svd-two-layer", gd(0.1, kind="dense", activation="relu"), "dense with transfer relu"),
    ("svd-two-layer", {"update": "adam", "architecture": NET["architecture"]}, "different rates"),
    ("svd-two-layer", {"update": "egu-pm", "architecture": NET["architecture"]}, "along gradients"),
    ("ri-bayes", EGU, "not rotation invariant"),
    ("ri-bayes", {"solver": "l1-logistic"}, "not rotation invariant"),
    ("hebb-limit", {"update": "gd"}, "the error of hebb, not of it"),
    ("lls-limit", {"solver": "hebb"}, "the error of lls, not of it"),
    ("ridge-limit", {"solver": {"kind": "ridge", "lam": 2.0}}, "λ = d(π/2 − 1)"),
    ("max-margin-limit", LLS, "the error of max-margin, not of it"),
    *((kind, LLS, "fully connected net") for kind in OF_NETS if kind not in OF_GRADIENTS),
    *((kind, LLS, "Gaussian start") for kind in OF_GRADIENTS),
    *((kind, gd(0.1, kind="layer-by-layer"), "draws signals") for kind in OF_GRADIENTS),
    *((kind, LLS, "fully connected net") for kind in OF_PAIRS),
    ("tangent-recursion", NET, "in the parametrisation `ntk`"),
    *(
        (kind, gd(0.1, kind="dense", parametrisation="ntk", activation="relu", **biases), "without biases")
        for kind in ("tangent-recursion", "tangent-norm-mean")
        for biases in ({"cb": 0.1}, {"biases": True})
    ),
    ("tangent-recursion", gd(0.1, kind="layer-by-layer"), "in the parametrisation `ntk`"),
    ("correlation-recursion", gd(0.1, kind="layer-by-layer"), "draws signals for each separately"),
    ("johnson-lindenstrauss", LLS, "Gaussian weights"),
    ("distortion-limit", LLS, "Gaussian weights"),
    ("johnson-lindenstrauss", gd(0.1, kind="layer-by-layer", inputs=2), "Gaussian weights"),
    ("johnson-lindenstrauss", {**NET, "start_seed": [1]}, "all replicas of"),
    *((kind, LLS, "Gaussian start") for kind in (*PIECES, *OF_ONE_INPUT)),
    *((kind, {**NET, "start_seed": [1]}, "the same start") for kind in FLUCTUATIONS),
    *(
        (kind, gd(0.1, kind="dense", widths=[31], activation="relu"), "has only 31")
        for kind in FLUCTUATIONS[2:]
    ),
    ("layer-fluctuation", BENT_NET, "without biases"),
    ("zaslavsky", gd(0.1, kind="dense", widths=[4, 4], activation="relu", cb=1), "one hidden layer"),
    ("zaslavsky", gd(0.1, kind="dense", widths=[4], activation="relu"), "the line requires biases"),
    ("pieces-one-layer", gd(0.1, kind="dense", widths=[4, 4], activation="relu"), "one hidden layer"),
    ("pieces-one-layer", gd(0.1, kind="dense", widths=[4], activation="relu", cw=1), "requires biases"),
    ("pieces-wide", gd(0.1, kind="dense", widths=[4], activation="relu", cw=1, cb=1), "C_w = 2"),
    ("layer-recursion-finite", gd(0.1, kind="dense", widths=[8], activation="tanh"), "relu, leaky_relu"),
    ("two-over-eta", LLS, "is a solver"),
    *((kind, LLS, "is a solver") for kind in CATAPULT),
    *((kind, EGU, "uses egu") for kind in CATAPULT),
    *((kind, {"update": "momentum", "architecture": NET["architecture"]}, "momentum") for kind in CATAPULT),
    *((kind, gd(0.1, kind="dense", widths=[8], l2_penalty=0.1), "without penalty") for kind in CATAPULT),
    *((kind, gd(0.1, kind="dense", widths=[8, 8]), "two linear layers") for kind in CATAPULT),
    ("catapult-limit", NET, "requires rate_unit = start-sharpness"),
    ("scalar-steps", LLS, "multiples of single examples"),
    ("valley-drift", gd(0.01), "the architecture `valley`"),
    ("valley-drift", {"update": "adam", "architecture": "valley"}, "gradient descent or momentum"),
    ("valley-drift", {"update": "momentum", "architecture": "valley"}, "without momentum"),
    ("scalar-steps", {"update": "lion"}, "multiples of single examples"),
    ("scalar-steps", {"update": "sign", "decay": {"rate": 0.1}}, "plain steps"),
    ("scalar-steps", {"update": {"kind": "sign", "lr": "best"}}, "a given rate"),
    ("scalar-steps", gd(0.1), "invariant on rows of ±1 only, but it is rotation invariant on all rows"),
    ("lazy-flow", LLS, "gradient flow"),
    ("lazy-flow", EGU, "gradient flow"),
    ("lazy-flow", gd(0.1, kind="spindly"), "tangent kernel"),
    ("lazy-flow", NET, "tangent kernel"),
    ("alignment", gd(0.1, kind="spindly"), "has a separate edge"),
    ("alignment", gd(0.1, kind="dense", init="identity"), "identity start"),
    ("parity-gradient", EGU, "one layer of ReLU units"),
    ("parity-gradient", {**BOUND["parity-gradient"]["net"], "start_seed": [0]}, "have the same start"),
    ("pieces-one-layer", {**BENT_NET, "start_seed": [0]}, "have the same start"),
    ("two-over-eta", EGU, "uses egu"),
    ("two-layer-gap", NET, "the loss of the architecture `two-layer-decoder`, not of it"),
    ("two-layer-gap", gd(0.1, kind="two-layer-decoder"), "gradient descent at rate ½"),
    (
        "two-layer-gap",
        {**DECODER, "update": {"kind": "momentum", "lr": 0.5}},
        "plain gradient descent at rate ½",
    ),
    ("two-layer-gap", {**DECODER, "layer_rates": {"W1": 0}}, "one rate for all layers"),
    (
        "two-layer-gap",
        {**DECODER, "schedule": {"kind": "linear", "steps": 5}},
        "has a schedule, clipping, noise or decay",
    ),
    ("two-layer-gap", {**DECODER, "decay": {"rate": 0.1}}, "has a schedule, clipping, noise or decay"),
    ("two-layer-gap", {**DECODER, "rate_unit": "start-sharpness"}, "are multiples of a unit"),
    ("percolation", EGU, "may change what it learns"),
    ("percolation-limit", LLS, "the loss of the solver `path-rule`, not of it"),
    ("ladder", gd(0.1, kind="spindly"), "may change what it learns"),
    ("outer-linear", NET, "not a single linear neuron"),
    ("outer-rotations", EGU, "not rotation invariant"),
    ("rank-span", EGU, "leave the span"),
    ("rank-two-layer", {"update": "gd"}, "two fully connected linear layers"),
    ("rank-doubling", LLS, "that an update rule trains"),
    ("rank-doubling", NET, "start alike"),
    ("rank-doubling", {**EGU, "noise": {"on": "gradient", "sigma": 0.1}}, "noise"),
    ("fluctuation-dissipation", LLS, "is a solver"),
    ("fluctuation-dissipation", {"update": "momentum"}, "without momentum"),
    ("fluctuation-dissipation", {**NET, "rate_unit": "start-sharpness"}, "are multiples of a unit"),
    (
        "fluctuation-dissipation",
        gd(0.1, kind="dense", widths=[8], l2_penalty=0.1),
        "one target and no penalty",
    ),
    *(
        (kind, learner, reason)
        for kind in DERIVED
        for learner, reason in (
            (LLS, "is something else"),
            ({"update": "agd-momentum"}, "is something else"),
            ({"update": {"kind": "agd", "loss_scale": 0.5, "l2_penalty": 0.1}}, "is something else"),
            ({"update": "agd"}, "loss_scale = 1/(2m) = 0.5"),
            ({**AUTOMATIC["AGD"], "layer_rates": {"W2": 0.5}}, "without penalty"),
            ({**AUTOMATIC["AGD"], "clip": {"norm": 1.0}}, "without penalty"),
        )
    ),
    ("ri-drawn", EGU, "not rotation invariant"),
    ("all-positive", LLS, "from weights 0"),
    ("all-positive", NET, "from weights 0"),
    (
        "shortest-private",
        {"solver": {"kind": "ridge", "lam": 1.0}},
        "weights that fit the seen rows",
    ),
    ("shortest-private", NET, "single linear neuron"),
    ("shortest-private", {**gd(0.1), "decay": {"rate": 0.1}}, "shrinks its weights"),
    ("shortest-private", EGU, "leave the span"),
    ("junk-flow", LLS, "gradient descent"),
    ("information-bound", LLS, "requires gradient descent"),
    ("information-bound", EGU, "requires gradient descent"),
    ("information-bound", {**NET, "update": "momentum"}, "requires gradient descent"),
    (
        "information-bound",
        {**NET, "schedule": {"kind": "linear", "steps": 5}},
        "has a schedule, clipping, noise or decay",
    ),
    ("information-bound", {"update": "gd"}, "one hidden layer"),
    ("information-bound", gd(0.1, kind="dense", widths=[4, 4]), "one hidden layer"),
    ("information-bound", NET, "only the first layer is trained"),
    *(
        (kind, learner, reason)
        for kind in KERNEL_REGIME
        for learner, reason in (
            (LLS, "requires gradient descent"),
            (NET, "only the first layer is trained"),
            ({**ONE_OUTPUT, **gd(0.1, kind="dense", widths=[5], activation="relu")}, "a smooth σ"),
            ({**ONE_OUTPUT, **gd(0.1, kind="dense", widths=[5], activation="tanh", init="zero")}, "Gaussian"),
            (
                {**ONE_OUTPUT, **gd(0.1, kind="dense", widths=[5], activation="tanh", l2_penalty=0.1)},
                "penalty",
            ),
        )
    ),
    ("junk-flow", NET, "has none"),
    ("junk-flow", {**NET, "noise": {"on": "gradient", "sigma": 0.1}}, "has none"),
    *(
        ("junk-flow", {**NET, "noise": {"on": "weights", "sigma": 0.1}, **more}, reason)
        for more, reason in (
            ({"schedule": {"kind": "linear", "steps": 5}}, "has a schedule, clipping, noise or decay"),
            ({"rate_unit": "start-sharpness"}, "are multiples of a unit"),
        )
    ),
]


def bound(kind):
    return catalogue.make("theory", kind)


@looped(("kind", "words"), HOLDS)
def test_a_bound_holds_on_its_problems_and_binds_invariant_learners(kind, words):
    learners = BOUND.get(kind, {"GD": gd(0.01), "LLS": LLS})
    described = experiment(learners=learners, **{"d": 8, **words})
    finding = on_problem(bound(kind), described)
    assert finding.holds, finding.reason
    for learner in described.learners:
        assert bound(kind).binds(learner, described).holds
        assert learner.name in bound(kind).binds(learner, described).reason


@looped(("kind", "words", "reason"), HOLDS_NOT)
def test_a_bound_states_the_unmet_requirement_of_a_problem(kind, words, reason):
    finding = on_problem(bound(kind), experiment(**{"d": 8, **words}))
    assert not finding.holds
    assert reason in finding.reason


@looped(("kind", "learner", "reason"), BINDS_NOT)
def test_a_bound_gives_the_reason_for_an_unbound_learner(kind, learner, reason):
    described = experiment(learners={"it": learner})
    (named,) = described.learners
    finding = bound(kind).binds(named, described)
    assert not finding.holds
    assert reason in finding.reason
    assert "it" in finding.reason.split()


def test_the_collapse_bound_requires_as_many_hidden_units_as_classes():
    described = experiment(**FEATURES, learners={"it": gd(0.1, **{**FREE, "widths": [2]})})
    finding = bound("collapsed-cross-entropy").binds(described.learners[0], described)
    assert not finding.holds
    assert "as many hidden units as classes" in finding.reason


def test_every_bound_has_a_case_of_each_sort():
    kinds = set(asked("theory"))
    assert kinds <= {case[0] for case in HOLDS}
    assert kinds - {*OF_INSTANCES} <= {case[0] for case in BINDS_NOT}
    assert kinds - {*OF_NETS} <= {case[0] for case in HOLDS_NOT}


@cache
def every_learner():
    """Every learner, and an experiment that has it."""
    experiments = [experiment(learners=group) for group in in_turns(LEARNERS)]
    return [(learner, described) for described in experiments for learner in described.learners]


@cache
def every_problem():
    """An experiment on every problem of the tables of cases."""
    return [experiment(**{"d": 8, **words}) for _, words, *_ in (*HOLDS, *HOLDS_NOT)]


@looped("kind", catalogue.members("theory"))
@pytest.mark.slow
def test_findings_are_sentences_and_rotation_invariant_bounds_follow_the_verdict(kind):
    for learner, described in every_learner():
        finding = bound(kind).binds(learner, described)
        assert len(finding.reason.split()) >= 5
        assert "\n" not in finding.reason
        if kind.startswith("ri-") and kind != "ri-rademacher":  # whom that binds is linear, too
            assert finding.holds == (verdict(learner, described).invariant is not False)
    for described in every_problem():
        reason = on_problem(bound(kind), described).reason
        assert len(reason.split()) >= 5
        assert "\n" not in reason


@looped("kind", catalogue.members("theory"))
def test_lines_name_their_direction_formula_and_source(kind):
    line, structure = bound(kind), bound(kind).structure()
    assert structure.direction in get_args(Direction)
    assert line.formula
    assert line.source
    assert bool(structure.limit) == (structure.direction == "asymptotic")


@looped("kind", catalogue.members("theory"))
def test_formulas_use_no_curve_letter_of_the_legend(kind):
    formulas = [bound(kind).formula]
    formulas += [
        bound(kind).formula_in(setup) for setup in every_problem() if on_problem(bound(kind), setup).holds
    ]
    for formula in formulas:
        assert not re.search(r"(?<!\w)[ABCDF](?!\w)", formula)


def drawn(described, kind):
    trace, _ = prepare(plan_run(described))
    return next(line for line in trace.lines if line.kind == kind)


def as_python(formula):
    """A formula of k, n and d as it is read, as an expression of Python."""
    spelled = {"−": "-", "²": "**2", "¼": "0.25 * ", "·": "*", "ln 2": "math.log(2)", ") max(": ") * max("}
    for sign, words in spelled.items():
        formula = formula.replace(sign, words)
    return re.sub(r"\)\(", ") * (", re.sub(r"([\d.]) ?\((?!2)", r"\1 * (", formula))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("ri-signed", {}),
        ("ri-signed", {"loss": "logistic"}),
        ("ri-permuted", {}),
        ("ri-01", {"matrix": "hadamard01"}),
        ("ri-01", {"matrix": "hadamard01", "loss": "entropic"}),
        ("ri-gaussian", {"matrix": "gaussian"}),
        ("ri-gaussian", {"matrix": {"kind": "gaussian", "n": 30}}),
        ("ri-gaussian", {"matrix": {"kind": "gaussian", "n": 9}}),
        ("ri-gaussian", {"matrix": {"kind": "sphere", "n": 9}}),
        ("ri-rademacher", {"matrix": "rademacher"}),
        ("ri-rademacher", {"matrix": {"kind": "rademacher", "n": 30}}),
    ],
)
def test_the_drawn_line_equals_its_formula(kind, words):
    described = experiment(d=16, **words)
    line, (n, d) = drawn(described, kind), described.problem.matrix.shape()
    expected = [
        eval(as_python(line.statement.formula), {"math": math, "k": k, "n": n, "d": d}) for k in range(n + 1)
    ]
    np.testing.assert_allclose(line.values, np.maximum(expected, 0), atol=1e-12)


def test_ri_drawn_counts_distinct_rows_per_replica_and_equals_gd():
    described = experiment(protocol=DRAWN, learners={"GD": gd(1 / 32)}, d=16, replicas=3)
    trace = run(described)
    line = next(line for line in trace.lines if line.kind == "ri-drawn")
    order = described.protocol.order(16, Streams(range(3)))
    for replica, rows in enumerate(order):
        expected = [1 - len(set(rows[:k])) / 16 for k in range(17)]
        np.testing.assert_allclose(line.by_replica[replica], expected, atol=1e-15)
    np.testing.assert_allclose(trace.curves[0].values("loss").T, line.by_replica, atol=1e-12)
    (seen,) = (
        line for line in view(of_run(described), of_one(described, trace)).lines if line.kind == "ri-drawn"
    )
    np.testing.assert_allclose(seen.y, line.by_replica.mean(0), atol=1e-15)
    in_their_order = RunData(lambda: data_of(described)).order
    assert in_their_order.tolist() == [list(range(16))] * 3


def test_ri_signed_scales_with_the_constant_of_the_sign_loss():
    for loss, c in {"hinge": 1.0, "exponential": 1.0, "mistake": 0.0}.items():
        line = drawn(experiment(d=12, loss=loss), "ri-signed")
        np.testing.assert_allclose(line.values, c * (1 - line.x / 12), rtol=0, atol=1e-15)


@pytest.mark.parametrize("words", [{"n": 5}, {"n": 13}])
def test_svd_lines_equal_the_rank_bound_at_their_rank(words):
    described = experiment({"kind": "gaussian", "d": 8, **words}, "doubled", noise=0.2, seed=3)
    data = data_of(described)
    exact = rank_bound(data.labels.numpy().T)
    for kind, rank in (("svd-doubled", 1), ("svd-two-layer", None)):
        line = drawn(described, kind)
        at = (line.x + 1 if rank else 2 * line.x + 1).astype(int)
        padded = np.pad(exact, (0, 2 * len(exact)))
        np.testing.assert_allclose(line.values, padded[at], rtol=0, atol=1e-12)


def ranks(learner, target, d):
    """The rank of the weights of all targets after k = 0 … d examples."""
    target_weights = weights(experiment(target=target, learners={"it": learner}, d=d, seed=3))
    return [np.linalg.matrix_rank(w, tol=1e-9 * abs(w).max() or 1e-9) for w in target_weights]


@pytest.mark.parametrize("init", ["gaussian", "identity", "diagonal"])
def test_the_weights_of_two_linear_layers_have_at_most_rank_2k_plus_1(init):
    target_ranks = ranks(gd(0.02, kind="dense", widths=[20], init=init, scale=0.5), "doubled", 16)
    k = np.arange(17)
    assert (target_ranks <= np.minimum(16, 2 * k + 1)).all()
    assert target_ranks[0] == 1
    if init == "gaussian":
        assert target_ranks[3:8] == [7, 9, 11, 13, 15], "k + 1, conjectured for the bound, is not the rank"


def test_the_weights_of_a_neuron_from_a_random_start_have_rank_k_plus_1():
    neuron = gd(0.02, kind="neuron", activation="identity", init="gaussian")
    assert ranks(neuron, "doubled", 16) == [min(16, k + 1) for k in range(17)]


@pytest.mark.parametrize("matrix", ["hadamard", "rademacher", "hadamard01"])
def test_measured_ranks_never_exceed_the_rank_lines(matrix):
    learners = {
        "GD": {"update": {"kind": "gd", "lr": 0.02}},
        "momentum": {"update": {"kind": "momentum", "lr": 0.01}},
        "EGU": {"update": {"kind": "egu", "lr": 0.15}},
        "EGU±": {"update": {"kind": "egu-pm", "lr": 0.15}},
        "Adam": {"update": {"kind": "adam", "lr": 0.1}},
        "spindly": gd(0.04, kind="spindly"),
        "two weights": gd(0.04, kind="two-weight"),
        "net": gd(0.02, kind="dense", widths=[8], init="gaussian"),
    }
    described = experiment(matrix, "all", learners, d=16, spectrum=True, seed=2, dtype="float64")
    trace = run(described)
    about = {line.kind: line for line in trace.lines if line.statement.measure == "rank"}
    for curve in trace.curves:
        for line in about.values():
            if curve.learner in line.applies_to:
                assert (spectrum_of(curve).rank <= line.values[: len(spectrum_of(curve).rank)]).all(), (
                    line.kind
                )
    adam = [] if matrix == "hadamard01" else ["Adam"]  # on signs the entries of a gradient are of one size
    assert about["rank-span"].applies_to == ["GD", "momentum", *adam]
    assert about["rank-two-layer"].applies_to == ["net"]
    assert about["rank-doubling"].applies_to == [
        learner_name for learner_name in learners if learner_name != "net"
    ]
    by_name = {curve.name: spectrum_of(curve).rank for curve in trace.curves}
    assert (by_name["EGU"] > about["rank-span"].values[: len(by_name["EGU"])]).any()


def test_the_svd_bound_binds_solvers_linear_in_the_labels():
    kernel = {"solver": {"kind": "kernel", "kernel": "xor-product"}}
    described = experiment("xor", "all", {"kernel": kernel, "VAW": {"solver": "vaw"}}, d=16)
    trace = run(described)
    svd_line = next(line for line in trace.lines if line.kind == "svd")
    assert svd_line.applies_to == ["kernel", "VAW"]
    np.testing.assert_allclose(trace.curves[0].mean("loss"), svd_line.values, rtol=0, atol=1e-9)
    assert (trace.curves[1].mean("loss") >= svd_line.values - 1e-12).all()


@pytest.mark.parametrize(("matrix", "protocol"), [
    ({"repeat": 2}, "one-pass"),
    ({}, {"kind": "one-pass", "replacement": True}),
])  # fmt: skip
def test_the_duplicates_line_is_the_same_for_orthogonal_and_hadamard_rows(matrix, protocol):
    lines = []
    for kind in ("hadamard", "orthogonal"):
        learners = {"LLS": LLS, "EGU": EGU}
        words = {"target": "all", "learners": learners, "protocol": protocol, "d": 8, "replicas": 200}
        trace = run(experiment({"kind": kind, **matrix}, **words))
        (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "duplicates")
        assert line.applies_to == ["LLS"]
        values = trace.curves[0].values("loss")
        error = np.maximum(values.std(1, ddof=1) / np.sqrt(200), 1e-9)
        assert (np.abs(values.mean(1) - line.values) / error < 4).all()
        lines.append(line.values)
    np.testing.assert_array_equal(*lines)


SHORT = {"kind": "sphere", "n": 12}
"""More points of a sphere than directions."""


def test_least_squares_attains_the_gaussian_bound_on_sphere_points():
    described = experiment(SHORT, learners={"LLS": LLS, "GD": gd(0.1)}, d=8, replicas=1000)
    trace = run(described)
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "ri-gaussian")
    assert line.applies_to == ["LLS", "GD"]
    for curve in trace.curves:
        values = curve.values("loss")
        error = np.maximum(values.std(1, ddof=1) / np.sqrt(1000), 1e-9)
        assert ((values.mean(1) - line.values) / error > -4).all()
        if curve.name == "LLS":
            assert (np.abs(values.mean(1) - line.values) / error < 4).all()


def test_ridge_regression_on_noisy_sphere_points_stays_above_the_noise_bound():
    ridge = {"solver": {"kind": "ridge", "lam": 8 * 0.25}}
    settings = {"protocol": {"kind": "one-pass", "examples": 24}, "replicas": 200}
    trace = run(experiment({"kind": "sphere", "n": 200}, learners={"it": ridge}, d=8, noise=0.5, **settings))
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "noise")
    (curve,) = trace.curves
    assert line.applies_to == ["it"]
    values = curve.values("loss")
    error = values.std(1, ddof=1) / np.sqrt(200)
    assert ((values.mean(1) - line.values) / error > -4).all()
    assert values[24].mean() < 1.25 * line.values[24], "many examples come near it"


@pytest.mark.parametrize("n", [5, 8, 13])
@pytest.mark.parametrize("family", ["gaussian", "rademacher"])
def test_svd_is_the_distance_to_the_nearest_labels_of_rank_k(family, n):
    described = experiment({"kind": family, "d": 8, "n": n}, "all", replicas=3, noise=0.2, seed=3)
    data = data_of(described)
    labels = data.labels.view(3, data.targets, n).numpy()
    expected = np.mean([rank_bound(Y.T) for Y in labels], 0)
    np.testing.assert_allclose(drawn(described, "svd").values, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("largest", [1, 3, 5000])
@pytest.mark.parametrize("shape", [(12, 20), (20, 12)])
def test_rank_bounds_of_integer_labels_equal_the_singular_value_bounds(largest, shape):
    Y = np.random.default_rng(0).integers(-largest, largest + 1, shape)
    expected = rank_bound(Y.T.astype(float))
    rank_bounds = DrawnLabels(Y[None].astype(np.float32)).rank_bound(np.arange(len(expected)))
    np.testing.assert_allclose(rank_bounds, expected, rtol=0, atol=1e-13 * expected[0])


@pytest.mark.parametrize("doubled", [False, True])
def test_rank_bounds_notice_one_non_orthogonal_target_among_many(doubled, monkeypatch):
    monkeypatch.setattr(examples, "PIECE", 6)
    H = sylvester(16)
    twice = H.copy()
    twice[13] = H[2]
    for Y in (H, twice):
        Y = np.concatenate((Y, -Y)) if doubled else Y
        k = np.arange(len(H) + 1)
        np.testing.assert_allclose(
            DrawnLabels(Y[None].astype(np.float32)).rank_bound(k), rank_bound(Y.T), rtol=0, atol=1e-12
        )


def test_losses_stay_above_the_svd_line_of_the_drawn_labels():
    learners = {"GD": gd(0.02), "momentum": {"update": "momentum"}, "LLS": LLS}
    trace = run(experiment("gaussian", "all", learners, d=12, seed=1))
    svd_line = next(line for line in trace.lines if line.kind == "svd")
    for curve in trace.curves:
        assert (curve.mean("loss") >= svd_line.values - 1e-12).all()


@pytest.mark.parametrize("unit", ["start-sharpness", "start-jacobian"])
def test_the_multiplicative_bound_does_not_bind_rates_in_other_units(unit):
    learners = {
        "half": {"update": {"kind": "egu", "lr": 0.5}},
        "units": {"update": {"kind": "egu", "lr": 0.5}, "rate_unit": unit},
    }
    described = experiment(**UPPER, learners=learners, d=64, replicas=64)
    trace = run(described)
    (line,) = (trace_line for trace_line in trace.lines if trace_line.kind == "multiplicative")
    assert line.applies_to == ["half"]
    least = 2 * math.log(64) / 63
    half, units = (curve.values("loss")[-1] for curve in trace.curves)
    assert half.mean() < least
    assert units.mean() - 5 * units.std() / 8 > least, "the theorem is not about this rate"


def test_an_inapplicable_bound_has_no_curve_and_binds_no_learner():
    line = drawn(experiment("gaussian", d=8, **TWO), "ri-signed")
    assert not line.on_problem.holds
    assert line.applies_to == []
    assert len(line.x) == len(line.values) == 0
    assert {finding.reason for finding in line.on_learners.values()} == {line.on_problem.reason}


def test_ri_signed_keeps_its_curve_but_binds_only_the_invariant_learner():
    line = drawn(experiment(d=8, **TWO), "ri-signed")
    assert line.applies_to == ["GD"]
    assert len(line.x) == 9
    assert np.interp([4, 4.5], line.x, line.values) == pytest.approx([0.5, 0.4375])


@pytest.mark.parametrize(
    ("batch", "bound"),
    [({}, True), ({"batch": 2}, False), ({"batch": 16}, True), ({"replacement": True}, True)],
)
def test_ri_signed_does_not_bind_solvers_that_know_more_than_k_rows(batch, bound):
    protocol = {"kind": "steps", "steps": 3, **batch}
    trace = run(experiment(learners={"LLS": LLS, "GD": gd(0.01)}, d=16, protocol=protocol))
    (line,) = (trace_line for trace_line in trace.lines_of("loss") if trace_line.kind == "ri-signed")
    assert line.on_learners["GD"].holds
    assert line.on_learners["LLS"].holds == bound
    (least, _) = trace.curves
    below = least.mean("loss")[1:] < line.values[1:] - 1e-9
    assert below.any() != bound


@pytest.mark.parametrize("shape", [(40, 40), (12, 40), (40, 12), (1, 40)])
@pytest.mark.parametrize("kind", ["signs", "repeated", "real"])
def test_rank_bounds_equal_the_tails_of_squared_singular_values(kind, shape):
    generator = np.random.default_rng(0)
    labels = generator.normal(size=shape) if kind == "real" else generator.choice([-1.0, 1.0], shape)
    if kind == "repeated":
        labels[len(labels) // 2 :] = labels[: len(labels) - len(labels) // 2]
    squares = np.square(np.linalg.svd(labels, compute_uv=False))
    ranks = np.arange(len(squares) + 1)
    expected = [squares[rank:].sum() / labels.size for rank in ranks]
    tails = DrawnLabels(labels[None]).rank_bound(ranks)
    np.testing.assert_allclose(tails, expected, rtol=0, atol=1e-13)
    assert (tails >= 0).all()
