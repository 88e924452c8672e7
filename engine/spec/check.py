"""Checks that the parts of an experiment fit together.

Pictures and claims may only refer to existing sweep axes, clocks, indices, learners, theory lines and
evaluation points.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product
from typing import NamedTuple

from engine.claims import Claim
from engine.core import catalogue
from engine.core.expressions import BadExpression, names_in
from engine.core.parts import MOST, BadInput
from engine.core.texts import listed
from engine.learners.learner import Learner
from engine.losses import Loss
from engine.measures import measures_in, named
from engine.pictures.picture import RATE, Picture
from engine.pictures.view import NEAR
from engine.problems.problem import Problem
from engine.protocols import CLOCKS, nearest
from engine.solvers import Solver
from engine.spec.axis import Axis
from engine.spec.experiment import Experiment, missing, no_hessian, picture_of, pictures_of
from engine.updates import refused_loss

SIZES = ("n", "d")
"""Names of sizes that expressions of a picture may use, besides the dimensions of its measure."""


class Dimensions(NamedTuple):
    """Names of everything that the values of a picture's measure may depend on, such as clocks and axes."""

    axes: dict[str, list[str]]
    """Names to which each sweep axis assigns numbers: the axis or its table columns, or none for words."""

    clocks: list[str]
    indices: list[str]
    measures: list[str]
    """Names of the measures that x uses and that are recorded together with the picture's measure."""

    rates: list[str]
    """The name RATE, if a learner runs at several learning rates; otherwise empty."""

    @property
    def of_axes(self) -> list[str]:
        return [name for names in self.axes.values() for name in names]


def check_pictures(experiments: Sequence[Experiment], learners: Sequence[str]) -> None:
    """Check that every picture of an experiment refers to existing dimensions, learners and theory lines.

    Args:
        experiments: the experiment at enough sweep points to include every learner. Without sweep axes, this
            is a single experiment.

    Raises: BadInput.
    """
    first, *_ = experiments
    for number, picture in enumerate(first.pictures):
        where = f"pictures[{number}]"
        if picture.name is not None and picture.name in [
            earlier_picture.name for earlier_picture in first.pictures[:number]
        ]:
            raise BadInput(
                f"{where}.name", f"another picture has the name {picture.name!r}; take a different name"
            )
        _check_measure(experiments, picture, learners, where)
        dimensions = _dimensions_of_measure(experiments, picture, learners, where)
        _check_dimensions(dimensions, picture, where)
        _check_until(experiments, picture, dimensions.clocks, where)
        _check_relative(picture, learners, where)
        for line in picture.lines or ():
            if catalogue.find("theory", line) is None:
                lines = listed(catalogue.members("theory"))
                raise BadInput(
                    f"{where}.lines", f"there is no theory line {line!r}; the theory lines are {lines}"
                )
        _check_contours(picture, where)
        _check_points(picture, where)
        _check_beneath(picture, first.pictures, where)


def _check_beneath(picture: Picture, pictures: Sequence[Picture], where: str) -> None:
    if picture.beneath is None:
        return
    lower_by_name = {
        lower_picture.name: lower_picture
        for lower_picture in pictures
        if lower_picture is not picture and lower_picture.name
    }
    lower = lower_by_name.get(picture.beneath)
    if lower is None:
        names = listed(map(repr, lower_by_name)) or "none"
        fault = f"there is no other picture {picture.beneath!r}; the named ones are {names}"
        raise BadInput(f"{where}.beneath", fault)
    if lower.beneath is not None:
        raise BadInput(
            f"{where}.beneath", f"{lower.name!r} already has a picture beneath it; a view shows at most two"
        )
    if picture.y is not None or lower.y is not None:
        raise BadInput(
            f"{where}.beneath",
            "a heat map cannot share a view with a second picture; leave `beneath` or `y` out",
        )
    for key in ("x", "x_log", "split_by"):
        if getattr(picture, key) != getattr(lower, key):
            shared = {"split_by": "curves"}.get(key, key)
            raise BadInput(
                f"{where}.beneath", f"{lower.name!r} has a different {shared}; both pictures need the same"
            )


def _check_relative(picture: Picture, learners: Sequence[str], where: str) -> None:
    to = picture.relative
    if to is None:
        return
    if picture.y is not None:
        raise BadInput(f"{where}.relative", "a heat map cannot be relative to a curve; leave `relative` out")
    if to in learners:
        return
    choices = listed(map(repr, learners))
    if catalogue.find("theory", to) is None:
        raise BadInput(
            f"{where}.relative", f"{to!r} is neither a theory line nor one of the learners {choices}"
        )
    line = catalogue.make("theory", to)
    if len(several := line.every()) > 1:
        fault = f"{to!r} stands for {len(several)} theory lines, {listed(edge.name for edge in several)}"
        raise BadInput(
            f"{where}.relative",
            f"{fault}; take a theory line that is a single curve, or one of the learners {choices}",
        )
    about = line.measure
    if about != picture.measure.name:
        fault = f"{to!r} is about the {about}, but the picture shows the {picture.measure.name}"
        raise BadInput(
            f"{where}.relative", f"{fault}; take another theory line, or one of the learners {choices}"
        )


def _check_points(picture: Picture, where: str) -> None:
    if picture.points is None:
        return
    if not picture.measure.structure().of_labels:
        fault = f"examples can be drawn only beside a learned function, not beside {picture.measure.kind}"
        raise BadInput(f"{where}.points", f'{fault}; leave `points` out, or take measure = "function"')
    for key in ("running", "times", "read", "relative", "share", "y"):
        if getattr(picture, key) is not None:
            fault = f"{key} changes the scale of the y-axis, so the labels of examples cannot be drawn"
            raise BadInput(f"{where}.points", f"{fault}; leave `points` or `{key}` out")


def _check_contours(picture: Picture, where: str) -> None:
    if picture.contours and picture.y is None:
        raise BadInput(f"{where}.contours", "contours are drawn on heat maps; give the picture a y")
    if picture.contours and picture.reading is not None and picture.reading.over != "record":
        over = picture.reading.over
        raise BadInput(
            f"{where}.contours",
            f"contours show theory lines along {over}, but `read` reduces {over} to one number; "
            "leave `contours` out",
        )
    for number, contour in enumerate(picture.contours):
        if catalogue.find("theory", contour.line) is None:
            lines = listed(catalogue.members("theory"))
            fault = f"there is no theory line {contour.line!r}; the theory lines are {lines}"
            raise BadInput(f"{where}.contours[{number}].line", fault)


def _check_measure(
    experiments: Sequence[Experiment], picture: Picture, learners: Sequence[str], where: str
) -> None:
    pairs = [(experiment, learner) for experiment in experiments for learner in experiment.learners]
    reasons = [missing(picture.measure, experiment, learner) for experiment, learner in pairs]
    if all(reasons) and {learner.name for _, learner in pairs} >= set(learners):
        raise BadInput(f"{where}.measure", f"{picture.measure.kind} is measured only where {reasons[0]}")


def _dimensions_of_measure(
    experiments: Sequence[Experiment], picture: Picture, learners: Sequence[str], where: str
) -> Dimensions:
    """Return the clocks, indices and axes along which the measure of a picture varies.

    Learners for which the measure cannot be computed are ignored. However, some of the `learners` may be in
    none of the `experiments`, so that their clocks are unknown. In this case, return all clocks of CLOCKS,
    and ignore no learner.
    """
    pairs = [(experiment, learner) for experiment in experiments for learner in experiment.learners]
    if {learner.name for _, learner in pairs} < set(learners):
        measured, clocks = pairs, list(CLOCKS)
    else:
        measured = [
            (experiment, learner)
            for experiment, learner in pairs
            if missing(picture.measure, experiment, learner) is None
        ]
        clocks = [
            clock
            for experiment, learner in measured
            for clock in experiment.protocol.measured_clocks(learner)
        ]
    planned = [
        clock
        for experiment in experiments
        for clock in experiment.protocol.clocks(experiment.problem.matrix.shape()[0])
    ]
    indices = [
        index.name
        for experiment, learner in measured
        for index in picture.measure.index(learner, experiment.problem)
    ]
    axes = {
        axis.name: [] if axis.has_words and not _has_named_places(picture, axis) else list(_names_bound(axis))
        for axis in experiments[0].axes
    }
    several = any(isinstance(learner.rate_choice, tuple) for _, learner in pairs)
    rates = [RATE] if several else []
    named = [
        measure_name
        for measure_name, measure in measures_in(_names_in_expression(picture, "x", where)).items()
        if any(missing(measure, experiment, learner) is None for experiment, learner in measured)
    ]
    return Dimensions(
        axes, list(dict.fromkeys([*planned, *clocks])), list(dict.fromkeys(indices)), named, rates
    )


def _has_named_places(picture: Picture, axis: Axis) -> bool:
    return picture.draw == "bars" and picture.x == axis.name


def _names_bound(axis: Axis) -> Collection[str]:
    # The number of a word is its position on the axis.
    return (axis.name,) if axis.has_words else axis.bound(axis.grid[0])


def _check_dimensions(dimensions: Dimensions, picture: Picture, where: str) -> None:
    along = [*dimensions.of_axes, *dimensions.clocks, *dimensions.indices]
    for key in ("x", "y", "times"):
        _check_numbers(_names_in_expression(picture, key, where), dimensions, f"{where}.{key}")
    rates = [
        dimension for dimension in dimensions.rates if dimension in _names_in_expression(picture, "x", where)
    ]
    by_measure = dimensions.measures if picture.y is None else []
    _check_names_exist(
        _names_in_expression(picture, "x", where),
        [*along, *by_measure, *dimensions.rates, *SIZES],
        f"{where}.x",
    )
    if by_measure and picture.relative is not None:
        fault = f"`relative` divides curves at equal x, but learners have different values of {by_measure[0]}"
        raise BadInput(f"{where}.relative", f"{fault}; leave `relative` out")
    _check_names_exist(
        _names_in_expression(picture, "times", where), [*along, *rates, *SIZES], f"{where}.times"
    )
    up = _names_in_expression(picture, "y", where)
    if misplaced := [dimension for dimension in sorted(up) if dimension in dimensions.clocks]:
        choices = listed([*dimensions.of_axes, *dimensions.indices, *SIZES])
        raise BadInput(
            f"{where}.y",
            f"{misplaced[0]} counts the progress of a run, so only x may name it; y may name {choices}",
        )
    _check_names_exist(up, [*dimensions.of_axes, *dimensions.indices, *SIZES], f"{where}.y")
    _check_numbers(picture.at, dimensions, f"{where}.at")
    _check_names_exist(picture.split_by, list(dimensions.axes), f"{where}.curves")
    _check_names_exist(picture.at, along, f"{where}.at")
    if picture.draw == "bars" and (picture.y is not None or not _is_along_few(dimensions, picture, where)):
        raise BadInput(
            f"{where}.draw", "bars show the values of an axis or index; name one in `x`, and leave `y` out"
        )
    if picture.reading is not None:
        _check_names_exist(
            [picture.reading.over],
            ["record", *dimensions.axes, *dimensions.indices, *dimensions.rates],
            f"{where}.read",
        )
    _check_all_dimensions_covered(dimensions, picture, where)


def _is_along_few(dimensions: Dimensions, picture: Picture, where: str) -> bool:
    few = {*dimensions.of_axes, *dimensions.indices, *dimensions.rates}
    named = _names_in_expression(picture, "x", where)
    return bool(named & few) and named.isdisjoint([*dimensions.clocks, *dimensions.measures])


def _check_until(
    experiments: Sequence[Experiment], picture: Picture, clocks: Sequence[str], where: str
) -> None:
    until = None if picture.reading is None else picture.reading.until
    if until is None:
        return
    if until.clock is not None:
        _check_names_exist([until.clock], clocks, f"{where}.read.until")
        return
    measure = named()[str(until.measure)]
    reasons = [
        missing(measure, experiment, learner) for experiment in experiments for learner in experiment.learners
    ]
    if all(reasons):
        raise BadInput(f"{where}.read.until", f"{until.measure} is measured only where {reasons[0]}")


def _check_numbers(names: Collection[str], dimensions: Dimensions, where: str) -> None:
    for name in names:
        if name in dimensions.axes and name not in dimensions.axes[name]:
            columns = listed(dimensions.axes[name])
            right = f"name {columns}" if columns else f"add {name} to `curves`, to get a curve for each value"
            raise BadInput(where, f"the values of {name} are {'tables' if columns else 'words'}; {right}")


def _check_all_dimensions_covered(dimensions: Dimensions, picture: Picture, where: str) -> None:
    """Check that the picture's x, y, `read` or `at` uses every dimension along which the measure varies."""
    over = None if picture.reading is None else picture.reading.over
    x = _names_in_expression(picture, "x", where)
    clocks = [dimension for dimension in (*dimensions.clocks, *dimensions.measures) if dimension in x]
    if over == "record" and clocks:
        fault = f"`read` reduces each run to one evaluation point, so x cannot be {clocks[0]}"
        raise BadInput(f"{where}.x", f"{fault}; name an axis or an index, or leave `read` out")
    for key in ("x", "y"):
        named = _names_in_expression(picture, key, where)
        if over is not None and not named.isdisjoint(dimensions.axes.get(over, [over])):
            fault = f"`read` reduces {over} to one number, so {key} cannot contain {over}"
            raise BadInput(f"{where}.{key}", f"{fault}; name another axis or index")
        for dimension in dimensions.indices:
            if dimension in named and dimension in picture.at:
                raise BadInput(
                    f"{where}.{key}", f"`at` already fixes {dimension}; name another axis or index"
                )
    remaining = [index for index in dimensions.indices if index not in picture.at and index != over]
    drawn = clocks[:1] if clocks else [dimension for dimension in remaining if dimension in x][:1]
    drawn += [
        dimension
        for dimension in remaining
        if dimension in _names_in_expression(picture, "y", where) and dimension not in drawn
    ][:1]
    if undrawn := [dimension for dimension in remaining if dimension not in drawn]:
        indices = f"{' and '.join(undrawn)} of {picture.measure.kind}"
        raise BadInput(where, f"{indices} must be named in `x`, `read` or `at`")
    if (
        picture.y is not None
        and not drawn[1:]
        and not _names_in_expression(picture, "y", where) & {*dimensions.of_axes}
    ):
        raise BadInput(f"{where}.y", "nothing varies along y; name an axis, or an index that x does not use")


def _names_in_expression(picture: Picture, key: str, where: str) -> set[str]:
    try:
        return names_in(getattr(picture, key) or "")
    except BadExpression as error:
        raise BadInput(f"{where}.{key}", str(error)) from error


def _check_names_exist(names: Collection[str], choices: Sequence[str], where: str) -> None:
    for name in names:
        if name not in choices:
            why = ", because no learner has a list of rates such as lr = [0.1, 0.2]" if name == RATE else ""
            raise BadInput(where, f"there is no {name!r}{why}; there are {listed(choices) or 'none'}")


MOST_NAMED = 9
"""Largest number of axis values that a message lists in full."""


class BadClaims(BadInput):
    """Error about the first invalid claim; `further_refusals` has the errors about other invalid claims."""

    def __init__(self, first: BadInput, rest: Sequence[BadInput]) -> None:
        super().__init__(first.where, first.fault)
        self.further_refusals = tuple(rest)


def check_claims(experiment: Experiment, learners: Sequence[str]) -> None:
    """Check that the pictures, curves, theory lines and recorded measures named in claims exist.

    Raises: BadClaims.
    """
    refused = []
    for number, claim in enumerate(experiment.claims):
        try:
            _check_claim(experiment, claim, f"claims[{number}]", learners)
        except BadInput as error:
            refused.append(error)
    refused += _errors_of_repeated_headlines(experiment)
    if refused:
        raise BadClaims(refused[0], refused[1:])


def _errors_of_repeated_headlines(experiment: Experiment) -> list[BadInput]:
    first: dict[tuple[str | None, str], int] = {}
    refused = []
    for number, claim in enumerate(experiment.claims):
        if claim.headline:
            measure = "" if claim.measure is None else claim.measure.name
            before = first.setdefault((claim.picture, measure), number)
            if before != number:
                fault = f"claims[{before}] has headline = true for the same picture; remove one of them"
                refused.append(BadInput(f"claims[{number}].headline", fault))
    return refused


def _check_claim(experiment: Experiment, claim: Claim, where: str, learners: Sequence[str]) -> None:
    try:
        picture = picture_of(experiment, claim.picture)
    except KeyError:
        names = listed(repr(other.name) for other in pictures_of(experiment) if other.name) or "none"
        fault = f"there is no picture {claim.picture!r}; those with a name are {names}"
        raise BadInput(f"{where}.picture", fault) from None
    _check_picture_of_claim(claim, picture, where)
    _check_names_in_claim(claim, where, learners, bool(experiment.axes))
    if experiment.axes:
        _check_values_of_axes(experiment, claim, picture, where, learners)
    spoken_of = [learner for learner in experiment.learners if claim.curve in (None, learner.name)]
    measure = claim.measure
    if measure is not None and spoken_of and (lack := missing(measure, experiment, spoken_of[0])):
        raise BadInput(where, f"{measure.name} is measured only where {lack}")


def _check_picture_of_claim(claim: Claim, picture: Picture, where: str) -> None:
    if claim.of_map and picture.y is None:
        raise BadInput(f"{where}.picture", f"{claim.kind} is about heat maps; name a picture with a y")
    if not claim.of_map and picture.y is not None:
        raise BadInput(f"{where}.picture", f"{claim.kind} is about curves; name a picture without a y")
    named = getattr(claim, "contour", None)
    if named is not None and named not in (contours := [contour.line for contour in picture.contours]):
        choices = listed(contours) or "none"
        raise BadInput(
            f"{where}.contour", f"the picture has no contour of {named!r}; its contours are {choices}"
        )


def check_places(experiment: Experiment) -> None:
    """Check that `at` of each claim about a single run is an evaluation point of the run, such as k = 64.

    Raises: BadInput.
    """
    n = experiment.n
    protocol = experiment.protocol
    clock, last = "" if experiment.pictures else protocol.clock, protocol.extent(n).last
    for number, claim in enumerate(experiment.claims):
        where, at = f"claims[{number}]", getattr(claim, "at", None)
        if at is not None and clock:
            if at > last:
                raise BadInput(f"{where}.at", f"{at:.10g} is past the end of the run, {clock} = {last:.10g}")
            if (near := nearest(protocol, max(0.0, at), n)) != at:
                raise BadInput(f"{where}.at", f"there is no evaluation point at {at:.10g}; take {near:.10g}")


def _check_values_of_axes(
    experiment: Experiment, claim: Claim, picture: Picture, where: str, learners: Sequence[str]
) -> None:
    axes = {axis.name: axis for axis in experiment.axes}
    at = getattr(claim, "at", None)
    if at is not None and (axis := axes.get(picture.x)) is not None:
        numbers = [number for number in axis.grid if isinstance(number, int | float)]
        if numbers and not any(abs(number - at) <= NEAR * abs(at) for number in numbers):
            raise BadInput(f"{where}.at", f"there is no {axis.name} = {at:g}; {_values_in_words(axis)}")
    apart = [axes[named] for named in picture.split_by]
    labels = (map(axis.label, axis.grid) for axis in apart)
    ends = [", ".join(words) for words in product(*labels)] if apart else []
    curves = {*learners, *(f"{learner_name}, {label}" for learner_name in learners for label in ends)}
    for field in claim.curve_fields:
        named = str(getattr(claim, field))
        if named not in curves and any(named.startswith(f"{learner_name}, ") for learner_name in learners):
            choices = "; ".join(map(_values_in_words, apart)) or "give only the name of a learner"
            raise BadInput(f"{where}.{field}", f"there is no curve {named!r}; {choices}")


def _values_in_words(axis: Axis) -> str:
    few = axis.grid if len(axis.grid) <= MOST_NAMED else (*axis.grid[:2], "…", axis.grid[-1])
    words = (f"{axis_value:g}" if isinstance(axis_value, float) else str(axis_value) for axis_value in few)
    return f"{axis.name} is {', '.join(words)}"


def _check_names_in_claim(claim: Claim, where: str, learners: Sequence[str], apart: bool) -> None:
    """Check that a claim names existing learners and theory lines. Raises: BadInput.

    If `apart` is true, the name of a curve may end with the values of sweep axes, as in `GD, d = 4`.
    """
    for field in dict.fromkeys((*claim.curve_fields, *claim.line_fields)):
        named = getattr(claim, field)
        if named is None:
            continue
        curve = any(
            named == learner_name or (apart and named.startswith(f"{learner_name}, "))
            for learner_name in learners
        )
        curve = curve and (field == "curve" or named != claim.curve)
        if field in claim.curve_fields and curve:
            continue
        if field in claim.line_fields and catalogue.find("theory", named) is not None:
            continue
        lines = catalogue.members("theory")
        if field == "curve":
            fault = f"there is no learner {named!r}; the learners are {listed(map(repr, learners))}"
        elif field in claim.curve_fields:
            rest = listed(repr(learner_name) for learner_name in learners if learner_name != claim.curve)
            fault = f"there is no other learner {named!r}; the other learners are {rest}"
            fault += f"; the theory lines are {listed(lines)}" if field in claim.line_fields else ""
        else:
            fault = f"there is no theory line {named!r}; the theory lines are {listed(lines)}"
        raise BadInput(f"{where}.{field}", fault)


def check(experiment: Experiment) -> None:
    """Check that the parts of an experiment fit together.

    The types and ranges of its fields were checked when it was read.

    Raises: BadInput with the field, the fault, and a remedy.
    """
    problem, matrix, target = experiment.problem, experiment.problem.matrix, experiment.problem.target
    n, d = matrix.shape()
    if n > (limit := max(d, MOST)):
        raise BadInput("problem.matrix", f"{n} instances are too many; take at most {limit}")
    target.check(matrix)
    if problem.labels != "soft" and target.structure(matrix).values == "bits":
        raise BadInput(
            "problem.labels",
            f"labels of {matrix.kind} are 0 and 1, but labels = {problem.labels} means ±1; set labels = soft",
        )
    loss = experiment.loss
    _check_loss(loss, problem)
    experiment.protocol.check(n, problem.label_values)
    _check_held_out(experiment, n)
    names: dict[str, Learner] = {}
    for number, learner in enumerate(experiment.learners):
        if learner.name in names:
            raise BadInput(
                f"learners[{number}].name",
                f"another learner has the name {learner.name!r}; take a different name",
            )
        names[learner.name] = learner
    for number, learner in enumerate(experiment.learners):
        _check_learner(f"learners[{number}]", learner, experiment, loss)
    for number, measure in enumerate(experiment.run.measures):
        lacks = [missing(measure, experiment, learner) for learner in experiment.learners]
        if all(lacks):
            fault = f"{measure.name} is measured only where {lacks[0]}"
            raise BadInput(f"run.measures[{number}]", fault)
    ending = experiment.protocol.schedule().ends_early
    if ending is not None and ending.measure is not None:
        lacks = [missing(named()[ending.measure], experiment, learner) for learner in experiment.learners]
        if all(lacks):
            raise BadInput("protocol.until", f"{ending.measure} is measured only where {lacks[0]}")
    if not experiment.axes:  # for a sweep, `sweep_of` checks all points together
        check_pictures([experiment], list(names))
        check_claims(experiment, list(names))
        check_places(experiment)


def _check_held_out(experiment: Experiment, n: int) -> None:
    protocol, held_out = experiment.protocol, experiment.problem.matrix.structure().held_out
    extent = protocol.extent(n)
    first_rows = max(extent.most_examples, extent.examples_given)
    learned_from = first_rows if protocol.schedule().in_data_order else extent.rows
    if learned_from > n - held_out:
        field = next((name for name in ("train", "examples") if name in protocol.__struct_fields__), None)
        right = "take the protocol `steps`" if field is None else f'set protocol.{field} = "training"'
        where = "protocol" if field is None else f"protocol.{field}"
        fault = f"learners train on {learned_from} of {n} rows, but the last {held_out} are held out"
        raise BadInput(where, f"{fault}; {right}")


def _check_loss(loss: Loss, problem: Problem) -> None:
    where = f"{problem.matrix.kind} with target {problem.target.kind}"
    if loss.labels not in ("any", problem.label_values):
        needed = {"signs": "+1 and −1", "bits": "0 and 1"}[loss.labels]
        why = "noise makes labels real numbers" if problem.noise > 0 else f"{where} has other labels"
        raise BadInput(
            "protocol.loss", f"{loss.kind} loss needs labels {needed}, but {why}; take square loss"
        )
    if loss.joint and not problem.one_hot:
        needed = "three classes or more as targets"
        raise BadInput(
            "protocol.loss",
            f"{loss.kind} loss needs {needed}, but {where} has other targets; take square loss",
        )


def _check_learner(place: str, learner: Learner, experiment: Experiment, loss: Loss) -> None:
    problem, architecture = experiment.problem, learner.architecture
    if experiment.protocol.schedule().trains and learner.update is None and learner.solver is None:
        raise BadInput(f"{place}.update", "missing; a learner has an architecture and an update, or a solver")
    if reason := experiment.protocol.refuses(learner):
        raise BadInput(f"{place}.update", reason)
    if learner.update is not None and (reason := refused_loss(learner.update, loss)):
        raise BadInput(f"{place}.update", reason)
    if learner.schedule is not None and learner.schedule.of_loss and not loss.positive:
        fault = f"the schedule divides rates by the loss, but {loss.kind} loss may be 0"
        raise BadInput(f"{place}.schedule", f"{fault}; take `exponential` or `logistic` loss")
    d = problem.matrix.shape()[1]
    if learner.update is not None and (reason := learner.update.refuses_features(d)):
        raise BadInput(f"{place}.update", reason)
    if architecture is not None and (reason := architecture.layout(d).refusal):
        raise BadInput(f"{place}.architecture", reason)
    if architecture is not None:
        targets = problem.target.columns(problem.matrix)
        if architecture.outputs not in (1, targets):
            right = "1 (one net per target) or m (one net for all)" if targets > 1 else "1"
            count = f"there are {targets} targets" if targets > 1 else "there is one target"
            fault = f"{architecture.outputs} outputs do not fit: {count}; take {right}"
            raise BadInput(f"{place}.architecture.outputs", fault)
    if learner.rate_unit != "one" and (reason := no_hessian(experiment, learner)):
        raise BadInput(f"{place}.rate_unit", f"the sharpness is defined only where {reason}")
    for field in ("solver", "tends_to"):
        if (solver := getattr(learner, field)) is not None:
            _check_solver(f"{place}.{field}", solver, problem)


def _check_solver(place: str, solver: Solver, problem: Problem) -> None:
    if reason := solver.refuses(problem.matrix.shape()[1]):
        raise BadInput(place, reason)
    structure = solver.structure()
    if structure.learns_one_hot and problem.one_hot:
        return
    if structure.labels not in ("any", problem.label_values):
        fault = f"{solver.kind} needs labels +1 and −1, but there are others; "
        raise BadInput(place, fault + 'take labels = "sign" without noise')
