"""Checks of the user's parts on small experiments.

A file with a part may also define the part's naive twin: a simple function that computes the same values. Its
name is `naive_` and the kind of the part, with underscores in place of hyphens. TWINS lists its arguments.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.core import catalogue
from engine.core.lazy import torch
from engine.core.optimizers import registered
from engine.core.parts import BadInput, Part, docstring, summary_of
from engine.core.streams import Streams
from engine.core.texts import reason_of
from engine.judging.judgement import judgement
from engine.pictures.bounds import respect
from engine.problems.data import draw
from engine.problems.instances import DenseInstances
from engine.results.results import of_one
from engine.results.views import view
from engine.runtime.run import run
from engine.spec.reading import Raw, parse
from engine.theory import Line

if TYPE_CHECKING:
    from engine.results.trace import Trace
    from engine.spec.experiment import Experiment
    from hadamard_tui.panels.panel import Panel

Floats = NDArray[np.float64]

SEED, REPLICAS, N, D = 7, 3, 12, 8

NEAR, NEAR_SINGLE = 1e-9, 1e-3
"""Largest relative deviations that rounding errors can explain, in float64 and in float32."""

RATES = 0.01, 0.02
"""Learning rates for a comparison: one run with both rates, against one run for each rate."""

DRAWS = 8
"""Number of random settings of a part's hyperparameters that are tried."""

PROBLEMS: tuple[Raw, ...] = (
    {"matrix": {"kind": "gaussian", "n": N, "d": D}, "target": {"kind": "feature", "index": 1}},
    {"matrix": {"kind": "rademacher", "n": N, "d": D}, "target": {"kind": "feature", "index": 1}},
    {"matrix": {"kind": "hadamard", "d": D}, "target": {"kind": "feature", "index": 1}},
    {"matrix": {"kind": "gaussian", "n": N, "d": D}, "target": "zero"},
)
"""Small problems for the checks. A part is checked on the first of them that it accepts."""

COMPARED: tuple[Raw, ...] = (
    {"name": "GD", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(2d)"}},
    {"name": "EGU", "architecture": "linear", "update": {"kind": "egu", "lr": "1/d"}},
    {"name": "least squares", "solver": {"kind": "lls"}},
)
"""Learners whose losses are compared with a theory line."""

SIDES = {
    "lower": ("lower",),
    "conjecture": ("lower",),
    "upper": ("upper",),
    "exact": ("lower", "upper"),
}
"""Sides from which a theory line bounds a run, by the direction of the line.

An exact line is both a lower and an upper bound.
"""

REPLICAS_OF_LINES = 32
"""Number of replicas in runs that are compared with a theory line.

This number is large enough for Student's t-test to decide.
"""

TWINS = {
    "updates": "(rule, w, gradients): weights after T steps from the weights w [d] along gradients [T, d]",
    "architectures": "(net, tensors, X): predictions [n] for n instances X [n, d]",
    "solvers": "(solver, X, y, rows): predictions for `rows` after k instances X [k, d] with labels y [k]",
    "losses": "(loss, prediction, label): loss of a prediction",
}
"""Arguments and results of naive twins, by family of parts."""


class Check(NamedTuple):
    """Outcome of a check of the user's part."""

    subject: str
    """Text that names the property that is checked."""

    holds: bool | None
    """Whether the property holds; None if the check does not apply."""

    words: str
    """Sentence with the result of the check."""


class CheckedPart(NamedTuple):
    """Part that a file defines, and its checks."""

    family: str
    kind: str
    checks: tuple[Check, ...]


def check_modules(modules: Sequence[ModuleType]) -> Iterator[CheckedPart]:
    modules_by_name = {module.__name__: module for module in modules}
    for family in catalogue.FOLDERS:
        for kind, member in catalogue.members(family).items():
            if (module := modules_by_name.get(member.__module__)) is not None:
                twin = getattr(module, f"naive_{kind.replace('-', '_')}", None)
                yield CheckedPart(family, kind, tuple(check_part(family, member, twin)))
    for name, optimizer in registered.items():
        if optimizer.__module__ in modules_by_name:
            yield CheckedPart("optimizer of torch", name, tuple(_check_optimizer(name)))
    for module in modules:
        if hasattr(module, "PANEL"):
            yield CheckedPart("panels", module.PANEL.name, tuple(_check_panel(module.PANEL)))


def check_part(family: str, member: type[Part], twin: Callable[..., Any] | None = None) -> Iterator[Check]:
    """Yield the outcomes of checks of a part. `twin` is its naive twin, if there is one.

    The last check draws hyperparameters at random; the others use default hyperparameters.
    """
    yield _check_docstring(member)
    try:
        part = member()
    except (TypeError, ValueError) as error:
        yield Check("defaults", None, f"a field has no default, so the part cannot be run: {error}")
        return
    written = msgspec.to_builtins(part)
    is_equal = catalogue.make(family, **written) == part
    yield Check(
        "defaults",
        is_equal,
        "the part equals a copy that is made from its fields"
        if is_equal
        else f"a copy made from the fields differs: {written}",
    )
    yield from _guarded_check("twin", lambda: _check_naive_twin(family, part, twin))
    yield from _checks_of_runs(family, part)
    yield from _guarded_check("fuzz", lambda: _check_random_hyperparameters(family, member))


def _check_optimizer(name: str) -> Iterator[Check]:
    try:
        part = catalogue.make("updates", "torch", name=name)
    except msgspec.ValidationError as error:
        yield Check("defaults", False, f"the optimizer cannot be made with default hyperparameters: {error}")
        return
    yield from _checks_of_runs("updates", part)


def _check_panel(panel: Panel) -> Iterator[Check]:
    from hadamard_tui import panels

    yield from _guarded_check("name", lambda: Check("name", panel in panels.PANELS, panel.about))
    yield from _guarded_check("show", lambda: _check_panel_content(panel))


def _check_panel_content(panel: Panel) -> Check:
    """Check that a panel has content for each learner at the start, middle and end of a small run."""
    from rich.text import Text

    from hadamard_tui.charts.drawing.nets import Nets
    from hadamard_tui.charts.heat_map import HeatMap
    from hadamard_tui.charts.plots.look import ChartOptions
    from hadamard_tui.charts.plots.series_builder import Plot
    from hadamard_tui.panels.panel import PanelContext

    raw = _experiment_document("panels", {}, PROBLEMS[0])
    experiment, trace = _experiment_and_trace({**raw, "learners": list(COMPARED)})
    if (lack := panel.lacks(experiment)) is not None:
        return Check("show", None, f"the panel has no content for a small run: {lack.reason}")
    for curve in trace.curves:
        for place in (0, N / 2, N):
            content = panel.show(PanelContext(experiment, trace, curve, N, place, ChartOptions()))
            if not isinstance(content, (Plot, HeatMap, Nets, Text)):
                words = f"the panel returns {type(content).__name__}, not Plot, HeatMap, Nets or Text"
                return Check("show", False, words)
    return Check(
        "show", True, f"the panel shows each of {len(trace.curves)} learners at three places of a run"
    )


def _checks_of_runs(family: str, part: Any) -> Iterator[Check]:
    try:
        setup = _small_experiment(family, msgspec.to_builtins(part))
    except BadInput as error:
        yield Check("run", False, f"no small experiment accepts the part: {error}")
        return
    yield from _guarded_check("run", lambda: _check_run(setup, part))
    yield from _guarded_check("seeds", lambda: _check_seeds(setup))
    yield from _guarded_check("batch", lambda: _check_batch(setup))
    if family == "updates" and hasattr(part, "lr"):
        yield from _guarded_check("rates", lambda: _check_rates(setup))
    yield from _guarded_check("float32", lambda: _check_float32(setup, family, part))
    if family in ("updates", "architectures", "solvers"):
        yield from _guarded_check("verdict", lambda: _check_verdict(setup))
    if isinstance(part, Line):
        yield from _guarded_check("measurement", lambda: _check_theory_line(setup, part))


def _guarded_check(subject: str, check: Callable[[], Check]) -> Iterator[Check]:
    """Yield the outcome of a check. An error in the check counts as a failure."""
    try:
        yield check()
    except Exception as error:
        reason = reason_of(error)
        yield Check(subject, False, f"the check raises {type(error).__name__}: {reason}")


def _check_docstring(member: type[Part]) -> Check:
    summary = summary_of(member)
    is_inherited = docstring(member) == docstring(member.__base__)
    if is_inherited or not summary.endswith(".") or len(summary.split()) < 2:
        return Check("docstring", False, "the first line must be a sentence that ends with a full stop")
    if "Source:" not in docstring(member):
        return Check("docstring", False, "the docstring must name a source, as in Source: Polyak 1964.")
    return Check("docstring", True, summary)


def _small_experiment(family: str, part: Raw) -> Raw:
    """Return a small experiment with the part, on the first of PROBLEMS that the part accepts.

    Raises: BadInput if the part accepts none of them.
    """
    refusal = BadInput("", "no problem was tried")
    for problem in PROBLEMS:
        raw = _experiment_document(family, part, problem)
        try:
            experiment = parse(raw)
        except BadInput as error:
            refusal = error
            continue
        # A theory line is checked on the first problem to which it applies. If there is none, it is checked
        # on the last.
        is_last = problem is PROBLEMS[-1]
        if family != "theory" or is_last or catalogue.make(family, **part).holds(experiment)[0]:
            return raw
    raise refusal


def _experiment_document(family: str, part: Raw, problem: Raw) -> Raw:
    learner: Raw = {"name": "part", "architecture": "linear", "update": {"kind": "gd", "lr": "1/(16d)"}}
    raw: Raw = {
        "problem": copy.deepcopy(problem),
        "protocol": {"kind": "one-pass"},
        "run": {"replicas": REPLICAS, "seed": SEED, "dtype": "float64", "device": "cpu"},
        "learners": [learner],
    }
    match family:
        case "updates" | "architectures":
            learner[family[:-1]] = part
        case "solvers":
            raw["learners"] = [{"name": "part", "solver": part}]
        case "matrices":
            raw["problem"]["matrix"] = part
        case "targets":
            raw["problem"]["target"] = part
        case "losses":
            raw["protocol"]["loss"] = part["kind"]
        case "protocols":
            raw["protocol"] = part
        case "measures":
            raw["run"]["measures"] = [part]
        case _:  # an experiment does not name its theory lines and panels
            pass
    return raw


def _experiment_and_trace(raw: Raw, **settings: object) -> tuple[Experiment, Trace]:
    experiment = parse({**raw, "run": {**raw["run"], **settings}})
    return experiment, run(experiment)


def _measures_of_curve(trace: Trace, number: int = 0) -> dict[str, Floats]:
    """Return a curve's measures by name, each as [records, replicas, …]. Records are evaluation points."""
    curve = trace.curves[number]
    arrays = {measure: curve.values(measure) for measure in curve.measures}
    return {name: np.asarray(array, np.float64) for name, array in arrays.items() if array is not None}


def _check_run(raw: Raw, part: Part) -> Check:
    experiment, trace = _experiment_and_trace(raw)
    losses = trace.curves[0].mean("loss")
    if losses is None or not trace.curves[0].complete or not np.isfinite(losses).all():
        return Check(
            "run", False, f"the run on {_problem_with_shape(experiment)} diverges; choose milder defaults"
        )
    if isinstance(part, Line):
        holds, reason = part.holds(experiment)
        state = "holds" if holds else "does not hold"
        return Check("run", True, f"the theory line {state} on {_problem_with_shape(experiment)}: {reason}")
    words = f"the loss on {_problem_with_shape(experiment)} goes from {losses[0]:.3g} to {losses[-1]:.3g}"
    return Check("run", True, words)


def _problem_with_shape(experiment: Experiment) -> str:
    n, d = experiment.problem.matrix.shape()
    return f"{experiment.problem.matrix.kind} rows [{n}, {d}]"


def _check_seeds(raw: Raw) -> Check:
    first, again = (_measures_of_curve(_experiment_and_trace(raw)[1]) for _ in range(2))
    unequal = [name for name in first if not np.array_equal(first[name], again[name], equal_nan=True)]
    if unequal:
        return Check("seeds", False, f"two runs with the same seeds differ in {', '.join(unequal)}")
    return Check("seeds", True, "two runs with the same seeds are equal")


def _check_batch(raw: Raw) -> Check:
    together = _measures_of_curve(_experiment_and_trace(raw)[1])
    alone = [
        _measures_of_curve(_experiment_and_trace(raw, replicas=1, seed=SEED + number)[1])
        for number in range(REPLICAS)
    ]
    deviation = max(
        _relative_deviation(together[name][:, number], alone[number][name][:, 0])
        for name in together
        for number in range(REPLICAS)
    )
    return Check(
        "batch",
        deviation < NEAR,
        f"{REPLICAS} replicas, trained together or one by one, have losses that differ by {deviation:.1g}",
    )


def _check_rates(raw: Raw) -> Check:
    """Check that one run with two learning rates has the same losses as two runs with one rate each."""

    def with_rate(rate: Any) -> Trace:
        (learner,) = raw["learners"]
        return _experiment_and_trace(
            {**raw, "learners": [{**learner, "update": {**learner["update"], "lr": rate}}]}
        )[1]

    together = with_rate(list(RATES))
    deviation = max(
        _relative_deviation(
            _measures_of_curve(together, number)["loss"], _measures_of_curve(with_rate(rate))["loss"]
        )
        for number, rate in enumerate(RATES)
    )
    return Check(
        "rates",
        deviation < NEAR,
        f"two rates, in one run or in separate runs, have losses that differ by {deviation:.1g}",
    )


def _check_float32(raw: Raw, family: str, part: Any) -> Check:
    if family in ("updates", "solvers") and not part.structure().continuous:
        return Check(
            "float32", None, "results can jump (continuous = False), so rounding errors can change a run"
        )
    double, single = (
        _measures_of_curve(_experiment_and_trace(raw, dtype=dtype)[1])["loss"]
        for dtype in ("float64", "float32")
    )
    deviation = _relative_deviation(double, single)
    return Check(
        "float32", deviation < NEAR_SINGLE, f"losses in float32 and in float64 differ by {deviation:.1g}"
    )


def _relative_deviation(first: Floats, second: Floats) -> float:
    """Return max |first − second| / max(1, max |first|).

    It is ∞ if the shapes differ, or if infinities or NaNs are at different positions.
    """
    if first.shape != second.shape or (np.isfinite(first) != np.isfinite(second)).any():
        return math.inf
    finite = np.isfinite(first)
    scale = max(1.0, float(abs(first[finite]).max(initial=0.0)))
    return float(abs(first[finite] - second[finite]).max(initial=0.0)) / scale


def _check_verdict(raw: Raw) -> Check:
    experiment, trace = _experiment_and_trace(raw)
    judged = judgement(experiment, trace, experiment.learners[0])
    if judged.conflict:
        return Check("verdict", False, f"{judged.verdict.sentence}, but {judged.conflict}")
    return Check("verdict", True, f"{judged.verdict.sentence}; measured: {judged.measurement}")


def _check_theory_line(raw: Raw, line: Line) -> Check:
    """Check that losses respect a theory line, such as a lower bound, for the learners it applies to.

    A few standard errors are tolerated. An exact line counts as a lower and as an upper bound.
    """
    sides = SIDES.get(line.structure().direction)
    if sides is None:
        words = (
            f"a theory line with direction = {line.structure().direction} is no bound on the losses of a run"
        )
        return Check("measurement", None, words)
    picture = {"x": "k", "measure": line.measure}
    experiment, trace = _experiment_and_trace(
        {**raw, "learners": list(COMPARED), "pictures": [picture]}, replicas=REPLICAS_OF_LINES
    )
    seen = view(experiment.pictures[0], of_one(experiment, trace))
    outcomes = {
        f"{curve.name}, {side}": respect(
            curve, msgspec.structs.replace(bound, direction=side), seen.quantity.rounding
        )
        for bound in seen.lines
        if bound.kind == line.kind
        for curve in seen.curves
        if bound.binds(curve)
        for side in sides
    }
    if not outcomes:
        return Check(
            "measurement", None, f"the theory line applies to no learner on {_problem_with_shape(experiment)}"
        )
    broken = {name: outcome for name, outcome in outcomes.items() if outcome.holds is False}
    judged = [*broken.items(), *outcomes.items()][0]
    words = f"{judged[0]} bound {judged[1].word[2:]}: {judged[1].detail}"
    return Check("measurement", not broken, words)


def _check_naive_twin(family: str, part: Any, twin: Callable[..., Any] | None) -> Check:
    if family not in TWINS:
        return Check("twin", None, f"parts of the family {family} cannot be compared with a naive version")
    name = f"naive_{part.kind.replace('-', '_')}"
    if twin is None:
        advice = f"to compare the part with a naive version, define the function {name}{TWINS[family]}"
        return Check("twin", None, advice)
    ours, naive = _PAIRS[family](part, twin)
    deviation = _relative_deviation(np.asarray(ours, np.float64), np.asarray(naive, np.float64))
    return Check("twin", deviation < NEAR, f"the part and its naive version {name} differ by {deviation:.1g}")


Pair = tuple[Any, Any]


def _rule_and_twin(rule: Any, twin: Callable[..., Any]) -> Pair:
    rng = np.random.default_rng(SEED)
    w, gradients = rng.standard_normal(D), rng.standard_normal((5, D))
    params, state = rule.start({"w": torch.from_numpy(w)[None]})
    w, rate = params["w"][0].numpy().copy(), getattr(rule, "lr", 1.0)
    for gradient in gradients:
        params, state = rule.step(params, {"w": torch.from_numpy(gradient)[None]}, {"w": rate}, state)
    return params["w"][0].numpy(), twin(rule, w, gradients)


def _net_and_twin(net: Any, twin: Callable[..., Any]) -> Pair:
    X = np.random.default_rng(SEED).standard_normal((N, D))
    start = net.start(Streams([SEED])("init"), D)
    tensors = {name: torch.from_numpy(tensor).double() for name, tensor in start.items()}
    with torch.no_grad():
        predicted = net.predict(tensors, DenseInstances(torch.from_numpy(X)[None]))[0].numpy()
    return predicted, twin(net, {name: tensor[0] for name, tensor in start.items()}, X)


def _solver_and_twin(solver: Any, twin: Callable[..., Any]) -> Pair:
    experiment = parse(_small_experiment("solvers", msgspec.to_builtins(solver)))
    streams = experiment.run.random_streams()
    drawn = draw(experiment.problem, streams, "float64", "cpu")
    hypothesis = solver.begin(drawn, streams)
    hypothesis.learn(drawn.instances.at(slice(0, D)), drawn.labels[:, :D])
    rows, labels = drawn.instances.rows[0].numpy(), drawn.labels[0].numpy()
    return hypothesis.predict(drawn.instances)[0].numpy(), twin(solver, rows[:D], labels[:D], rows)


def _loss_and_twin(loss: Any, twin: Callable[..., Any]) -> Pair:
    predictions, labels = np.linspace(-2, 2, 9).repeat(2), np.tile([-1.0, 1.0], 9)
    losses = loss.value(torch.from_numpy(predictions), torch.from_numpy(labels)).numpy()
    return losses, [twin(loss, *pair) for pair in zip(predictions, labels, strict=True)]


_PAIRS: Mapping[str, Callable[[Any, Callable[..., Any]], Pair]] = {
    "updates": _rule_and_twin,
    "architectures": _net_and_twin,
    "solvers": _solver_and_twin,
    "losses": _loss_and_twin,
}


def _check_random_hyperparameters(family: str, member: type[Part]) -> Check:
    """Check that runs with random hyperparameters either succeed or raise BadInput."""
    rng, ran, refused = np.random.default_rng(SEED), 0, 0
    described = msgspec.inspect.type_info(member)
    assert isinstance(described, msgspec.inspect.StructType), "a part is a Struct"
    if not described.fields:
        return Check("fuzz", None, "the part has no hyperparameters")
    for _ in range(DRAWS):
        drawn_settings = {field.encode_name: _random_setting(field.type, rng) for field in described.fields}
        settings = {name: setting for name, setting in drawn_settings.items() if setting is not None}
        try:
            run(parse(_small_experiment(family, {"kind": str(described.tag), **settings})))
            ran += 1
        except BadInput:
            refused += 1
        except Exception as error:
            reason = reason_of(error)
            return Check("fuzz", False, f"a run with {settings} raises {type(error).__name__}: {reason}")
    return Check(
        "fuzz",
        True if ran else None,
        f"of {DRAWS} random settings, {ran} run without errors and {refused} are refused",
    )


def _random_setting(kind: Any, rng: np.random.Generator) -> Any:
    """Return a random value for a field of type `kind`, or None to use the field's default."""
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            return _random_setting(inner, rng)
        case msgspec.inspect.UnionType(types=kinds):
            return _random_setting(kinds[int(rng.integers(len(kinds)))], rng)
        case msgspec.inspect.BoolType():
            return bool(rng.integers(2))
        case msgspec.inspect.LiteralType(values=words):
            return words[int(rng.integers(len(words)))]
        case msgspec.inspect.IntType():
            low = max(kind.ge if kind.ge is not None else (kind.gt or 0) + 1, 0)
            high = kind.le if kind.le is not None else low + D
            return int(rng.integers(low, min(high, low + D) + 1))
        case msgspec.inspect.FloatType():
            least = next((limit for limit in (kind.ge, kind.gt) if limit is not None), -2.0)
            largest = next((limit for limit in (kind.le, kind.lt) if limit is not None), math.inf)
            return float(rng.uniform(least, min(largest, least + 2.0)))
        case _:
            return None
