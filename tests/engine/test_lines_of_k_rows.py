"""Exact, asymptotic and upper lines are about hypotheses that have learned from exactly k different rows."""

import pytest
from building import experiment, gd

from engine.core import catalogue
from engine.core.parts import Finding
from engine.protocols.one_pass import OnePass
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.experiment import of_run
from engine.theory import Line, LineStructure, on_problem

TANH = {"tanh": {"solver": "tanh-lls"}}
PATHS = {"path": {"solver": {"kind": "path-rule", "side": 8, "count": 2}}}
DECODER = gd(0.5, kind="two-layer-decoder", eps=0.01, mu=0.01, gain=100.0)
HALVES = {"matrix": "ordered-hadamard", "target": "doubled", "d": 16}
NINE = {"kind": "one-pass", "examples": 9}
AVERAGED = {"kind": "one-pass", "average": True}
DRAWN = {"kind": "one-pass", "replacement": True}
OUTER = {"matrix": {"kind": "outer", "factors": [8, 8]}}
SIGNS = {"matrix": "rademacher", "d": 64}
HALF_SPACE = {"matrix": {"kind": "gaussian", "n": 64}, "labels": "sign", "d": 16}


def solver(kind):
    return {"it": {"solver": kind}}


DEPARTURES = {
    "tanh-lls-limit": [(SIGNS, TANH, AVERAGED), (SIGNS, TANH, DRAWN)],
    "percolation-limit": [(OUTER, PATHS, AVERAGED)],
    "hebb-limit": [(HALF_SPACE, solver("hebb"), DRAWN)],
    "lls-limit": [
        (HALF_SPACE, solver("lls"), DRAWN),
        (HALF_SPACE, solver("lls"), {**DRAWN, "average": True}),
    ],
    "two-layer-gap": [
        (HALVES, {"it": {**DECODER, "update": {"kind": "momentum", "lr": 0.5, "momentum": 0.5}}}, NINE),
        (HALVES, {"it": {**DECODER, "layer_rates": {"W1": 0.0}}}, NINE),
        (HALVES, {"it": {**DECODER, "schedule": {"kind": "linear", "steps": 9}}}, NINE),
        (HALVES, {"it": DECODER}, {**NINE, "average": True}),
    ],
}
"""Learners and protocols that meet all conditions of a line except one."""


MANY = {"hebb-limit": 100, "lls-limit": 100, "tanh-lls-limit": 60}
"""Replicas of cases for which few are not enough."""


def run_with(kind, words, learners, protocol):
    """The line of a kind, and the curve of the learner in the picture of the line's measure."""
    measure = catalogue.make("theory", kind).measure
    recorded = [] if measure == "loss" else [{"kind": measure}]
    described = experiment(
        **words, learners=learners, protocol=protocol, measures=recorded, replicas=MANY.get(kind, 20)
    )
    trace = run(described)
    (curve,) = view(of_run(described, measure), of_one(described, trace)).curves
    return next(line for line in trace.lines if line.kind == kind), curve


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words", "learners", "protocol"),
    [(kind, *departure) for kind, departures in DEPARTURES.items() for departure in departures],
)
def test_a_line_does_not_bind_learners_that_depart_from_it(kind, words, learners, protocol):
    departing, far = run_with(kind, words, learners, protocol)
    assert departing.applies_to == []
    gap = kind == "two-layer-gap"
    line, near = run_with(kind, words, {"it": DECODER} if gap else learners, NINE if gap else "one-pass")
    assert line.applies_to == [near.name]
    middle = len(near.y) // 2
    values = line.of_curves[near.name].values[0] if line.of_curves else line.values
    assert near.y[middle] == pytest.approx(values[middle], abs=0.08)
    assert abs(far.y[middle] - values[middle]) > abs(near.y[middle] - values[middle]) + 5 * far.stderr[middle]


class Exact(Line, frozen=True):
    """An exact line that holds everywhere."""

    def structure(self):
        return LineStructure(direction="exact")

    def holds(self, experiment):
        return Finding(True, "it holds everywhere in this test")


class OfStart(Exact, frozen=True):
    """The same of the start, which needs no examples."""

    def structure(self):
        return LineStructure(direction="exact", needs_k_rows=False)


class Compared(Exact, frozen=True):
    """A line to compare with."""

    def structure(self):
        return LineStructure()


@pytest.mark.parametrize(
    "protocol", [AVERAGED, DRAWN, {"kind": "one-pass", "batch": 2}, {"kind": "steps", "batch": 2}]
)
def test_an_undeclared_line_requires_a_hypothesis_of_k_rows(protocol):
    described = experiment("gaussian", d=8, protocol=protocol)
    finding = on_problem(Exact(), described)
    assert not finding.holds
    assert finding.reason.startswith("requires a hypothesis learned from exactly k different rows, and ")
    assert on_problem(OfStart(), described).holds
    assert on_problem(Compared(), described).holds


@pytest.mark.parametrize(
    "protocol", ["one-pass", "erm", "epochs", "steps", "flow", "to-consistency", "at-init"]
)
def test_full_batches_and_one_pass_give_hypotheses_of_k_rows(protocol):
    assert on_problem(Exact(), experiment("gaussian", d=8, protocol=protocol)).holds


class Odd(OnePass, frozen=True, tag="odd"):
    """One pass in another way."""

    def training_run(self, inputs):
        raise NotImplementedError


def test_an_undeclared_protocol_has_no_hypothesis_of_k_rows():
    assert OnePass().departure_from_k_rows("loss") is None
    assert (
        Odd().departure_from_k_rows("loss")
        == "the class of protocol odd does not define the method `departure_from_k_rows`"
    )
