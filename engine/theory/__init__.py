"""Theory lines: curves that theory predicts for a measure, such as lower bounds on the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.architectures import Architecture
from engine.core.groups import ROTATIONS, TRIVIAL, Group
from engine.core.parts import Finding, Part, Verdict
from engine.formulas.catapult import MONOTONE_BELOW
from engine.learners.learner import Learner
from engine.problems.data import Data
from engine.problems.examples import DrawnLabels
from engine.problems.matrices import Rows
from engine.results.trace import Statement
from engine.spec.experiment import Setup
from engine.symmetry.verdict import verdict
from engine.training.descent import Descent, speeds_of

if TYPE_CHECKING:
    from engine.measures import Measure
    from engine.problems.problem import Problem

Floats = NDArray[np.float64]
Order = NDArray[np.int64]

Direction = Literal["lower", "upper", "exact", "asymptotic", "shape", "conjecture", "reference"]
"""Relation of a theory line to the measure that it is about. A lower line is a lower bound on the measure, an
upper line is an upper bound, and an exact line equals the measure. An asymptotic line equals the measure in a
limit that no run reaches, and a shape equals the measure up to constants. A conjecture is a lower bound that
has not been proved. A reference is only a value to compare with.
"""


class RunData:
    """Data of an experiment's training runs, from which theory lines are computed.

    The data are the instances, the labels, the order of the rows, and the states before training. Nothing is
    drawn before its first use.
    """

    def __init__(
        self,
        draw: Callable[[], Data],
        begin: Callable[[Data, Learner], Descent] | None = None,
        order: Callable[[], Order | None] = lambda: None,
        labels: Callable[[], Rows] | None = None,
    ) -> None:
        """Store functions that draw the data and begin training.

        Args:
            draw: returns the data that the learners see.
            begin: returns the state of training before the first step, given the data and a learner. The
                learner must have an update rule.
            order: returns the indices of the rows in the order in which each replica sees them, [R, K].
                Returns None if all replicas see the rows in stored order.
            labels: returns the labels [R, m, n] of m targets and n rows in R replicas, as an array. By
                default, the labels are read from the data.
        """
        self._draw, self._begin, self._order, self._given = draw, begin, order, labels

    @cached_property
    def data(self) -> Data:
        return self._draw()

    @cached_property
    def labels(self) -> DrawnLabels:
        """Labels of all rows and targets."""
        if self._given is not None:
            return DrawnLabels(self._given())
        return DrawnLabels(self.data.labels.view(self.data.replicas, self.data.targets, -1).cpu().numpy())

    @cached_property
    def order(self) -> Order:
        """Indices of the rows in the order in which each replica is trained on them, [R, K]."""
        order, labels = self._order(), self.labels
        return np.tile(np.arange(labels.n), (labels.replicas, 1)) if order is None else order

    def start(self, learner: Learner) -> Descent:
        """Return the state of a learner before its first step. The learner must have an update rule."""
        assert self._begin is not None, "runs have starts"
        return self._begin(self.data, learner)


Measured = Mapping[str, Floats]
"""Measured values of a training run, by the name of the measure. Each array is [R, S], for R replicas and S
records.
"""


class OtherRun(NamedTuple):
    """A further training run that only supplies measures for a theory line.

    The run may train the same learner on other labels, for example. The experiment itself does not show the
    run. Protocol and seeds are those of the experiment, so a learner has the same initial weights in both.
    """

    learner: Learner
    problem: Problem
    measures: tuple[Measure, ...]
    """Measures that are computed for this run, at the same records as in the experiment."""


@dataclass(frozen=True)
class At:
    """Input of `Line.value`: the points at which a theory line is computed, and the data that it may use.

    A line is computed at the evaluation points of a training run, as measures are. If the measure is an
    array, such as one value per layer, the line is also computed for every index of the array.
    """

    experiment: Setup
    drawn: RunData
    """Data of the run, which all theory lines share. The data are drawn when they are first used."""

    clocks: Mapping[str, Floats]
    """Values of the clocks at the records that the protocol plans, [S] each, by the name of the clock. For
    example, the clock "step" counts training steps.
    """

    indices: Mapping[str, Floats] = field(default_factory=dict)
    """Coordinates along each dimension of a measure that is an array, such as the numbers of layers, by the
    dimension's name.
    """

    of_learner: Learner | None = None
    """Learner for whose curve the line is computed, if the line is `per_learner`."""

    of_rate: float | None = None
    """Learning rate of `of_learner`."""

    measured: Measured = field(default_factory=dict)
    """Measured values of the learner's own run up to the current record, for an `along_runs` line."""

    runs: Mapping[str, Measured] = field(default_factory=dict)
    """Measured values of the other training runs that `Line.runs` names, by the names of the runs."""

    beyond: bool = False
    """Whether the clocks continue past the last record, as if training went on."""

    @property
    def k(self) -> Floats:
        """Number of examples seen at each evaluation point, [S]."""
        if self.beyond:
            return self.clocks["k"]
        n, records = self.experiment.n, len(next(iter(self.clocks.values())))
        return self.experiment.protocol.examples_seen(n)[:records]

    @property
    def labels(self) -> DrawnLabels:
        return self.drawn.labels

    @property
    def order(self) -> Order:
        """Indices of the rows in the order in which each replica is trained on them, [R, K]."""
        return self.drawn.order

    @property
    def learner(self) -> Learner:
        """Learner for which the line is computed. Raises: TypeError if the line is not `per_learner`."""
        if self.of_learner is None:
            raise TypeError("only a line that is per_learner has a learner")
        return self.of_learner

    @property
    def rate(self) -> float:
        """Learning rate of `learner`. Raises: TypeError if the learner has none."""
        if self.of_rate is None:
            raise TypeError("only a line of a learner with a given rate has a rate")
        return self.of_rate

    @property
    def start(self) -> Descent:
        """State of `learner`, with its learning rate, before the first training step."""
        update = self.learner.update
        if self.of_rate is not None and update is not None:
            update = msgspec.structs.replace(update, lr=self.of_rate)
        return self.drawn.start(msgspec.structs.replace(self.learner, update=update))


class LineStructure(NamedTuple):
    """Properties of a theory line, such as whether it is a bound and whether learners have separate values.

    The defaults describe a reference, which is a value to compare a measure with. No theorem says that the
    measure has this value.
    """

    direction: Direction = "reference"

    limit: str = ""
    """Limit of an asymptotic line, in words, such as "for large d"."""

    group: Group | None = None
    """Group of transformations of the instances. The line applies to every learner that is invariant under
    this group. The field is None if invariance does not decide whether the line applies.
    """

    in_expectation: bool = True
    """Whether the line is about an expectation, from which single runs deviate, or about every run."""

    summary: Literal["mean", "median", "geometric", "relative-variance", "log-variance"] = "mean"
    """Statistic over replicas that the line is about, if the line is `in_expectation`. Lines about a typical
    replica use "median".
    """

    per_learner: bool = False
    """Whether the values of the line differ between the learners to which it applies."""

    per_replica: bool = False
    """Whether the values of the line differ between replicas, because they depend on the data or the start.
    """

    along_runs: bool = False
    """Whether the line is computed record by record from measured values. These are the values of the
    learner's own run, named by `measures`, or the values of other training runs, named by `runs`.
    """

    running: Literal["mean", "min", "max", "sum"] | None = None
    """Statistic over all evaluation points so far that the line is about. None means that the line is about
    the value at each evaluation point.
    """

    needs_k_rows: bool = True
    """Whether the line requires a hypothesis that has learned from exactly k different rows. Its predictions
    must be measured unchanged, without averaging or clipping.

    The field is False for lines about the start of training, for lower bounds that decrease with k, and for
    upper bounds that grow with k. It is also False for lines with conditions that state which examples the
    line needs. For references, the field has no effect.
    """

    of: str = ""
    """Words that distinguish lines with the same title in lists, such as "ridge regression" in "limit of
    ridge regression".
    """

    @property
    def about(self) -> str | None:
        """Statistic over replicas that the line is about, or None if it may be any statistic.

        The result is None if the line holds in every run, has a separate value for every replica, or is only
        a reference.
        """
        goes_with_all = not self.in_expectation or self.per_replica or self.direction == "reference"
        return None if goes_with_all else self.summary


class Line(Part, frozen=True):
    """A theory line: a statement about a measure, its conditions, its values, and the learners it applies to.

    Most lines are about a learner's predictions after it has learned from exactly k different rows. A line
    without this condition sets `needs_k_rows` to False in its structure. Lower bounds that decrease with k
    are an example. Such bounds also hold for clipped predictions, and for the mean of the weights learned
    from 0, 1, …, k examples. If k examples are drawn with replacement, at most k of them are different, so
    these bounds still hold.
    """

    declares: ClassVar[frozenset[str]] = frozenset(("structure", "holds", "binds"))

    measure: ClassVar[str] = "loss"
    """Name of the measure that the line is about."""

    title: ClassVar[str] = ""
    """Short name that reads well after "the", without a comma. If it is empty, `kind` is used instead."""

    formula: ClassVar[str]
    source: ClassVar[str]

    def structure(self) -> LineStructure:
        """Return the properties of the theory line, such as whether it is a lower bound."""
        return LineStructure()

    @classmethod
    def every(cls) -> tuple[Line, ...]:
        """Return all theory lines of this class that charts show, such as both edges of a band."""
        return (cls(),)

    @property
    def name(self) -> str:
        """Name that differs from the names of all other lines."""
        return self.kind

    @property
    def called(self) -> str:
        """Name of the theory line in charts and captions."""
        return self.title or self.kind

    def group_in(self, experiment: Setup) -> Group | None:
        """Return the group under which a learner must be invariant for this theory line to apply.

        The result is None if invariance does not decide whether the line applies. The experiment must satisfy
        the conditions of the line.
        """
        return self.structure().group

    def formula_in(self, experiment: Setup) -> str:
        """Return the formula of the theory line, with the constants of an experiment filled in.

        The experiment must satisfy the conditions of the line.
        """
        return self.formula

    def holds(self, experiment: Setup) -> Finding:
        """Return whether problem and protocol satisfy the conditions of the theorem, and the reason."""
        return Finding(False, f"{self.kind} does not declare for which problems it holds")

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        """Return whether the theorem applies to a learner in an experiment, and the reason."""
        return Finding(False, f"{self.kind} does not declare to which learners it applies")

    def measures(self, learner: Learner, experiment: Setup) -> tuple[Measure, ...]:
        """Return the measures that `value` needs from the learner's own run to compute the theory line.

        `value` reads these measures from `at.measured`. The line must apply to the learner.
        """
        return ()

    def runs(self, learner: Learner, experiment: Setup) -> Mapping[str, OtherRun]:
        """Return further training runs that `value` needs to compute the theory line, by name.

        `value` reads their measures from `at.runs`. `learner` is the learner of a single curve, so it has
        exactly one rate.
        """
        return {}

    def value(self, at: At) -> Floats:
        """Return the values of the theory line at the evaluation points of a run that does not end early.

        The array has the shape [S, *index] for S evaluation points and the indices of the measure, or
        broadcasts to this shape. If the line is `per_replica`, the shape is [R, S, *index].
        """
        raise NotImplementedError


def on_problem(line: Line, setup: Setup) -> Finding:
    """Return whether a theorem holds for the problem and the protocol of an experiment, and the reason.

    The conditions are those of `line.holds`. If the line requires hypotheses that have learned from exactly k
    different rows, the protocol must provide such hypotheses.
    """
    holds, structure = line.holds(setup), line.structure()
    if not holds.holds or not structure.needs_k_rows or structure.direction == "reference":
        return holds
    departure = setup.protocol.departure_from_k_rows(line.measure)
    if departure is None:
        return holds
    return Finding(False, f"requires a hypothesis learned from exactly k different rows, and {departure}")


class ByVerdict(Line, frozen=True):
    """Base class of theory lines that apply to a learner or not, depending on its invariance verdict."""

    declares: ClassVar[frozenset[str]] = Line.declares | {"binds_by_verdict"}

    def binds(self, learner: Learner, experiment: Setup) -> Finding:
        return self.binds_by_verdict(learner, experiment, verdict(learner, experiment))

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        """Return whether the theorem applies to a learner with the verdict `judged`, and the reason."""
        return Finding(False, f"{self.kind} does not declare to which learners it applies")


def on_learner(line: Line, learner: Learner, setup: Setup, judged: Verdict) -> Finding:
    """Return whether a theorem applies to a learner, given the verdict on the learner, and the reason.

    For a line that inherits `binds` from `ByVerdict`, the function uses the verdict `judged`, so that the
    verdict is not computed again. For other lines, it calls `line.binds`.

    In some protocols, a solver is fitted to all training rows at once, but k counts only the rows of
    mini-batches. In these protocols, no theorem about k examples applies to a solver.
    """
    look_ahead = setup.protocol.extent(setup.n).solvers_look_ahead
    if learner.solver is not None and look_ahead:
        reason = "is fitted to all training rows at once, but k counts only the rows of mini-batches"
        return Finding(False, f"{learner.name} {reason}")
    if isinstance(line, ByVerdict) and type(line).binds is ByVerdict.binds:
        return line.binds_by_verdict(learner, setup, judged)
    return line.binds(learner, setup)


def statement(line: Line, experiment: Setup | None = None) -> Statement:
    """Return the data of a theory line that results store, such as its formula, direction and source.

    If an experiment is given, the formula and the invariance group are those for this experiment. The
    experiment must satisfy the conditions of the line.
    """
    structure = line.structure()
    return Statement(
        kind=line.kind,
        direction=structure.direction,
        in_expectation=structure.in_expectation,
        formula=line.formula if experiment is None else line.formula_in(experiment),
        source=line.source,
        measure=line.measure,
        group=structure.group if experiment is None else line.group_in(experiment),
        name=line.name,
        title=line.called,
        limit=structure.limit,
        summary=structure.about,
        running=structure.running,
    )


class RotationInvariant(ByVerdict, frozen=True):
    """Lower bound for every learner whose predictions do not change when all instances are rotated.

    The bound is on an expected value. If the learner makes random choices, the expectation is also over these
    choices. A learner that first rotates all instances at random is rotation invariant. So if the data of a
    problem are rotated at random, the bound applies to every learner.
    """

    def structure(self) -> LineStructure:
        return LineStructure(group=ROTATIONS, needs_k_rows=False)

    def group_in(self, experiment: Setup) -> Group | None:
        return TRIVIAL if experiment.problem.matrix.structure().is_turned else self.structure().group

    def binds_by_verdict(self, learner: Learner, experiment: Setup, judged: Verdict) -> Finding:
        if shares_layers(learner):
            return Finding(False, about_one_target(learner))
        group = self.structure().group
        if group is not None and group <= judged.group:
            return Finding(True, f"{learner.name} is rotation invariant: {judged.reason}")
        if experiment.problem.matrix.structure().is_turned:
            return bound_by_turning(learner, f"is {judged.word}")
        return Finding(False, f"{learner.name} is {judged.word}: {judged.reason}")


def bound_by_turning(learner: Learner, predicate: str) -> Finding:
    """Return the positive finding that a bound applies to a learner because the data are rotated at random.

    The bound is proved for rotation-invariant learners, but `learner` need not be invariant. On data that are
    rotated at random, its results have the same distribution as if it first rotated all data at random. A
    learner that first rotates all data at random is rotation invariant.

    Args:
        predicate: description of the learner, such as "is not rotation invariant".
    """
    return Finding(
        True, f"{learner.name} {predicate}, yet the bound applies, because the data are rotated at random"
    )


def shares_layers(learner: Learner) -> bool:
    """Return whether a net of the learner predicts several targets at once.

    The predictions for a target then also depend on the labels of other targets.
    """
    return learner.architecture is not None and learner.architecture.outputs > 1


def about_one_target(learner: Learner) -> str:
    """Return the reason why a theorem about one target does not apply to `learner`, as text.

    The learner must have one net for all targets, so that all targets share its hidden layers.
    """
    return f"the line requires a net for each target, and the outputs of {learner.name} share hidden layers"


def loss_constant(setup: Setup) -> float:
    """Return c, the least expected loss on a label that is a fair coin ±1.

    c = min_ŷ ½[L(ŷ, −1) + L(ŷ, +1)] for the loss L of the experiment.
    """
    constant = setup.loss.constant
    assert constant is not None, "a loss that takes labels ±1 has a constant"
    return constant


def times_constant(factor: str, setup: Setup) -> str:
    """Return the formula c · `factor` as text, for the constant c that `loss_constant` returns.

    `factor` must begin with a parenthesis. The formula shows the value of c. If c = 1, the formula is
    `factor` alone, and parentheses around the whole factor are left out.
    """
    constant = loss_constant(setup)
    if constant != 1:
        return f"{in_words(constant)}{factor}"
    return factor[1:-1] if factor.endswith(")") else factor


def in_words(constant: float) -> str:
    """Return a constant as text before a parenthesis: "¼", "ln 2 · ", or a number of three digits."""
    symbols = {0.25: "¼", math.log(2.0): "ln 2 · "}
    return symbols.get(constant, f"{constant:.3g}")


def fair_signs(setup: Setup, reason: str) -> Finding:
    """Return whether predicting a label of unknown sign has a mean loss of at least c, and the reason.

    c is `loss_constant`, and the mean is over rows. The sign of a label is unknown in two cases: the label is
    an independent fair coin, or a random sign multiplies both the row and its label. For labels ±1, the mean
    loss is at least c. For other labels y, the mean square loss over both signs is at least y². On orthogonal
    rows of length √d in random order, the mean of y² is ‖w*‖² = 1. Label noise only raises the loss.

    Args:
        reason: reason to return if the answer is yes.
    """
    problem = setup.problem
    if problem.labels_are_coins:
        return Finding(True, reason)
    if not problem.labels_flip:
        return Finding(
            False, f"requires labels that change sign if their rows do, {_labels_in_words(problem)}"
        )
    if problem.labels != "soft" or problem.target_structure.values == "signs":
        return Finding(True, reason)
    if not problem.target_structure.unit:
        return Finding(False, f"requires a feature as the target, and here it is {problem.target.kind}")
    if not (setup.loss.is_square and problem.matrix.structure().random_order):
        return Finding(False, "requires labels ±1, or square loss with rows in random order")
    return Finding(True, reason)


def _labels_in_words(problem: Problem) -> str:
    if problem.labels == "sign" and problem.target_structure.is_odd:
        return "but the label sign(0) = +1 of a row x is also the label of −x"
    return f"but labels of {problem.target.kind} on {problem.matrix.kind} do not"


def knows_unseen_labels(learner: Learner, setup: Setup) -> Finding | None:
    """Return None if labels of unseen rows do not influence a learner; otherwise, the reason why they do.

    Labels of unseen rows influence a learner with a rate that is chosen by losses on all rows. They also
    influence a learner with a rate that is a multiple of 1/S, because the sharpness S at the start depends on
    all labels. For square loss and predictions linear in the parameters, S does not depend on labels.
    """
    if learner.is_tuned:
        return Finding(False, f"the rate of {learner.name} is chosen by its losses on all rows")
    if learner.rate_unit != "start-sharpness":
        return None
    architecture, d = learner.architecture, setup.d
    linear = architecture is not None and architecture.structure_at(d).linear_layers == 1
    if linear and setup.loss.is_square:
        return None
    return Finding(
        False,
        f"the rate of {learner.name} depends on labels of all rows, through the sharpness at the start",
    )


def shown_once(setup: Setup) -> Finding | None:
    """Return None if the matrix does not repeat its rows; otherwise, a negative finding."""
    if setup.problem.matrix.repeat is None:
        return None
    return Finding(False, "requires rows that are seen once, and here they are repeated")


def rows_in_order(setup: Setup) -> Finding | None:
    """Return None if the first k examples are the first k rows; otherwise, the reason why not."""
    if setup.protocol.schedule().in_data_order:
        return None
    return Finding(False, "requires examples in the order of the data, and here they are drawn at random")


def whole_cube(setup: Setup) -> Finding | None:
    """Return None if the rows are all of the 2^d vectors of ±1; otherwise, the reason why not."""
    matrix = setup.problem.matrix
    if matrix.structure().is_cube:
        return None
    return Finding(False, f"requires all vectors of ±1 as rows, and the matrix is {matrix.kind}")


def along_every_step(setup: Setup) -> Finding | None:
    """Return None if there is a record after every full-batch step; otherwise, the reason why not.

    A full-batch step follows the gradient over all n rows. All steps must be full-batch steps.
    """
    protocol, n = setup.protocol, setup.n
    if not protocol.schedule().full_batch or protocol.clock != "step":
        return Finding(False, "requires steps along the gradient over all rows")
    if protocol.extent(n).records <= protocol.extent(n).last:
        return Finding(False, "requires an evaluation point after every step, as with records = steps")
    if protocol.extent(n).most_examples < n:
        return Finding(False, "requires steps along the gradient over all rows, and some rows are held out")
    return None


def signed_orthogonal(setup: Setup) -> Finding | None:
    """Return None if rows are orthogonal with random signs, and not repeated; otherwise, the reason why not.

    Rows must have equal lengths, and their signs must be independent. A rotation-invariant learner cannot
    distinguish such rows from Hadamard rows with random signs.
    """
    matrix = setup.problem.matrix
    if repeated := shown_once(setup):
        return repeated
    structure = matrix.structure()
    if not structure.is_orthogonal:
        return Finding(False, f"requires orthogonal rows of one length, and the matrix is {matrix.kind}")
    if structure.sign_factors and not structure.random_signs:
        reason = f"rows of {matrix.kind} that share a factor share its sign"
        return Finding(False, f"requires an independent random sign for every row, and {reason}")
    if not structure.random_signs:
        return Finding(False, "requires random row signs, and `row_signs` is off")
    return None


def linear_labels(setup: Setup) -> Finding | None:
    """Return None for square loss and labels xᵀw* with ‖w*‖ = 1; otherwise, the reason why not."""
    problem = setup.problem
    if problem.labels != "soft":
        return Finding(False, f"requires linear labels, and here they are {problem.labels}")
    if not problem.matrix.structure().features_are_linear:
        other = problem.matrix.kind
        return Finding(False, f"requires labels that are linear in the instances, and the matrix is {other}")
    if not problem.target_structure.unit:
        return Finding(False, f"requires a unit vector as the target, and here it is {problem.target.kind}")
    return only_square(setup)


def without_direction(setup: Setup) -> Finding | None:
    """Return None if rows prefer no direction, and are not repeated; otherwise, the reason why not.

    Rows must be independent draws from a rotation-invariant distribution with E xxᵀ = I.
    """
    matrix = setup.problem.matrix
    if repeated := shown_once(setup):
        return repeated
    if not matrix.structure().has_no_direction:
        requirement = "requires Gaussian instances, or points of a sphere"
        return Finding(False, f"{requirement}, and the matrix is {matrix.kind}")
    if matrix.second_moment != 1.0:
        return Finding(
            False, f"requires entries of mean square 1, but the `second_moment` of {matrix.kind} is not 1"
        )
    return None


def only_square(setup: Setup) -> Finding | None:
    """Return None for square loss; otherwise, the reason why a theorem about square loss does not apply."""
    loss = setup.loss
    return None if loss.is_square else Finding(False, f"requires square loss, and the loss is {loss.kind}")


def only_numbers(setup: Setup) -> Finding | None:
    """Return None if every instance is a single number; otherwise, the reason why not."""
    d = setup.d
    return None if d == 1 else Finding(False, f"requires instances of one entry, and these have {d}")


def descends(learner: Learner, setup: Setup) -> Finding | None:
    """Return None if a learner is gradient descent at the rate `lr`; otherwise, the reason why not.

    The steps may have momentum, and the rate must be constant. Each step must follow the gradient of all
    examples that the protocol supplies for the step.
    """
    name, update = learner.name, learner.update
    if update is None:
        return Finding(False, f"the line requires steps with a rate, and {name} is a solver")
    structure = update.structure()
    if structure.stable_up_to is None or structure.mini_batch is not None:
        return Finding(
            False, f"the line requires gradient descent or momentum, and {name} uses {update.kind}"
        )
    return at_rate_lr(learner, setup)


def descends_by_first_layer(learner: Learner, setup: Setup) -> Finding:
    """Return whether a learner is plain gradient descent on the first layer of a net with one hidden layer.

    The finding contains the reason.
    """
    name, net, update = learner.name, learner.architecture, learner.update
    structure = None if update is None else update.structure()
    descends = structure is not None and structure.stable_up_to == MONOTONE_BELOW
    if net is None or structure is None or not descends or structure.mini_batch:
        return Finding(False, f"the line requires gradient descent, and {name} does something else")
    if not learner.plain_steps:
        added = "a schedule, clipping, noise or decay"
        return Finding(False, f"the line requires plain steps with one rate, but {name} has {added}")
    declared = net.structure()
    hidden = declared.hidden_layers
    if hidden is None or len(hidden.next_variances) != 1 or not declared.layered:
        return Finding(
            False, f"the line requires a dense net with one hidden layer, and {name} is not such a net"
        )
    if net.outputs != setup.m:
        return Finding(False, f"the line requires one output of {name} for every target")
    speeds = speeds_of(learner, setup.d)
    if {layer for layer, speed in speeds.items() if speed} != {"W1"}:
        return Finding(False, f"the line requires that only the first layer is trained, unlike in {name}")
    return Finding(True, f"{name} is gradient descent on the first layer of a net with one hidden layer")


def at_rate_lr(learner: Learner, setup: Setup) -> Finding | None:
    """Return None if all layers of a learner have the constant rate `lr`; otherwise, the reason why not."""
    reason = learner.departure_from_lr(setup.d)
    return None if reason is None else Finding(False, reason)


def product_curve(at: At) -> Floats:
    """Return (1 − k/n)(1 − k/d), or 0 for k > d: lower bound on the loss after k of n rows have been seen.

    1 − k/n is the share of the rows that are unseen. 1 − k/d is a lower bound on the expected loss on an
    unseen row, relative to the loss of the prediction 0.
    """
    n, d = at.experiment.n, at.experiment.d
    return (1 - at.k / n) * np.maximum(0, 1 - at.k / d)


def product_formula(setup: Setup) -> str:
    """Return the formula of `product_curve` as text, with the numbers n and d of an experiment."""
    n, d = setup.n, setup.d
    if n == d:
        return "(1 − k/d)²"
    return "(1 − k/n)(1 − k/d)" if n < d else "(1 − k/n) max(0, 1 − k/d)"


def several_targets(setup: Setup) -> Finding:
    """Return whether there are several targets, square loss and no clipping, and the reason."""
    finding = more_than_one_target(setup)
    if not finding.holds:
        return finding
    if setup.protocol.schedule().clips_at is not None:
        return Finding(False, "requires linear predictions, and clipped predictions are not linear")
    return only_square(setup) or finding


def more_than_one_target(setup: Setup) -> Finding:
    """Return whether a problem has several targets, and the reason."""
    targets = setup.m
    if targets < 2:
        return Finding(False, "requires several targets, and there is one")
    return Finding(True, f"there are {targets} targets, each with separate weights")


def largest_rank(setup: Setup) -> int:
    """Return the largest rank that the matrix of all targets' weight vectors can have."""
    matrix = setup.problem.matrix
    return min(matrix.shape()[1], setup.problem.target.columns(matrix))


def stays_in_span(learner: Learner, setup: Setup, judged: Verdict, any_start: bool) -> Finding:
    """Return whether the weights of a linear learner stay in the span of their start and the instances seen.

    The finding contains the reason. Unless `any_start` is set, the weights must start at 0. The check relies
    on rotation invariance. Consider the orthogonal map that is 1 on the span of the instances seen, and −1 on
    vectors orthogonal to the span. The map changes neither the instances nor a start at 0. So it does not
    change the weights of an invariant learner, and these weights have no component orthogonal to the span.

    The result is also positive for a solver with predictions that are linear in the k labels seen. The
    predictions for all targets then have rank k at most, as if the weights were in the span of k instances.
    """
    name, architecture = learner.name, learner.architecture
    if architecture is not None:
        if architecture.structure_at(setup.d).linear_layers != 1:
            other = described(architecture)
            return Finding(False, f"the line requires a single linear neuron, and {name} is {other}")
        if not architecture.structure().starts_at_zero and not any_start:
            return Finding(
                False, f"the line requires weights that start at 0, and the weights of {name} do not"
            )
    if learner.solver is not None and learner.solver.structure().linear_in_labels:
        return Finding(True, f"the predictions of {name} are linear in the k labels it has seen")
    if learner.solver is not None and not learner.solver.structure().linear_in_instance:
        return Finding(
            False, f"the line requires predictions linear in the instance, unlike the predictions of {name}"
        )
    if not judged.group >= ROTATIONS:
        return Finding(False, f"the weights of {name} leave the span of the instances: {judged.reason}")
    if learner.noise is not None:
        return Finding(False, f"the weights of {name} leave the span of the instances because of noise")
    span = (
        "the span of its start and the k instances seen" if any_start else "the span of the k instances seen"
    )
    return Finding(True, f"the weights of {name} stay in {span}")


def described(architecture: Architecture) -> str:
    """Return a description of an architecture: its kind, its transfer function, and whether it has biases."""
    transfer, biased = getattr(architecture, "activation", None), getattr(architecture, "has_biases", False)
    description = architecture.kind if transfer is None else f"{architecture.kind} with transfer {transfer}"
    return f"{description}, and has biases" if biased else description
