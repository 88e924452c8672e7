"""The typed description of an experiment. The preset file format is exactly this."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core import catalogue
from engine.core.parts import LARGEST, MOST, MOST_LAYERS, BadField, BadInput, Count, Values
from engine.measures import named

if TYPE_CHECKING:
    from engine.architectures import Architecture as AnyArchitecture
    from engine.problems.matrices import Matrix as AnyMatrix
    from engine.problems.targets import Target as AnyTarget
    from engine.protocols import Protocol as AnyProtocol
    from engine.solvers import Solver as AnySolver
    from engine.updates import Update as AnyUpdate
else:
    AnyArchitecture = catalogue.union("architectures")
    AnyMatrix = catalogue.union("matrices")
    AnyTarget = catalogue.union("targets")
    AnyProtocol = catalogue.union("protocols")
    AnySolver = catalogue.union("solvers")
    AnyUpdate = catalogue.union("updates")


MOST_LEARNERS = 400
"""Learners of an experiment at most: each is a curve and a row of the table, and all run side by side."""

MOST_CLAIMS = 1000
"""Claims of an experiment at most: each is a line that somebody reads."""

MOST_WORDS = 10_000
"""Letters of a text at most: a story that somebody reads in the app."""


MOST_NAME = 40
"""Letters of a name at most, so that it stands in a legend."""

Name = Annotated[str, Meta(max_length=MOST_NAME)]


class Problem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What there is to learn: instances and their labels."""

    matrix: AnyMatrix
    target: AnyTarget
    labels: Annotated[
        Literal["soft", "sign", "bernoulli"],
        Meta(title="labels", description="as they are; their signs; or ±1 with probability 1/(1 + e^(∓y))"),
    ] = "soft"
    noise: Annotated[
        float, Meta(ge=0, le=1e6, title="label noise σ", description="N(0, σ²) added to every label")
    ] = 0.0

    @property
    def label_values(self) -> Values:
        """What every label is."""
        if self.noise > 0:
            return "any"
        return self.target.values(self.matrix) if self.labels == "soft" else "signs"


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it is computed."""

    seed: Annotated[int, Meta(ge=0, lt=2**62, title="seed", description="all randomness comes from it")] = 0
    replicas: Annotated[
        Count, Meta(title="replicas", description="runs with seeds seed, seed + 1, …, as one batch")
    ] = 1
    dtype: Annotated[
        Literal["float32", "float64"], Meta(title="dtype", description="numbers of data and weights")
    ] = "float32"
    device: Annotated[
        str,
        Meta(
            pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$",
            title="device",
            description="auto, cpu, cuda or cuda:1; auto takes CUDA when there is one",
        ),
    ] = "auto"
    path: Annotated[
        Literal["auto", "dense", "structured", "compiled"],
        Meta(
            title="path",
            description="on a matrix as it is, by its structure, or compiled; auto takes the fastest",
        ),
    ] = "auto"
    train_loss: Annotated[
        bool, Meta(title="train loss", description="record the loss over the rows seen and over those unseen")
    ] = False
    spectrum: Annotated[
        bool,
        Meta(title="spectrum", description="record singular values and rank of the weights across targets"),
    ] = False


class Learner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who learns: an architecture trained by an update rule, or a solver."""

    name: Annotated[Name, Meta(min_length=1, title="name", description="as the chart says it")]
    architecture: AnyArchitecture | None = None
    update: AnyUpdate | None = None
    solver: AnySolver | None = None
    layer_rates: Annotated[
        dict[str, Annotated[float, Meta(ge=0, le=LARGEST)]],
        Meta(
            max_length=MOST_LAYERS + 1,
            title="layer rates",
            description="multiplies the rate of single layers, as in W1 = 0",
        ),
    ] = {}

    def __post_init__(self) -> None:
        if self.solver is not None:
            if self.architecture is not None or self.update is not None:
                raise BadField(
                    "solver", "a solver needs neither architecture nor update; give one or the other"
                )
            if self.layer_rates:
                raise BadField("layer_rates", "a solver has no layers and no rate; leave it out")
        elif self.architecture is None or self.update is None:
            missing = "architecture" if self.architecture is None else "update"
            raise BadField(missing, "missing; a learner has an architecture and an update, or a solver")
        elif unknown := self.layer_rates.keys() - set(self.architecture.layers):
            known = ", ".join(self.architecture.layers)
            raise BadField("layer_rates", f"there is no layer {min(unknown)}; the layers are {known}")
        elif all(self.layer_rates.get(layer) == 0 for layer in self.architecture.layers):
            raise BadField("layer_rates", "with every layer at 0 nothing would be learned; take another rate")
        elif reason := self.update.refuses(self.architecture):
            raise BadField("update", reason)


if TYPE_CHECKING:
    MeasureName = str
else:
    MeasureName = Literal[tuple(name for name, measure in named().items() if measure.is_number)]


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence about a curve that a run proves or refutes.

    With `k` it compares the loss after k examples with `loss` (± `within`, or ± `standard_errors`), `below`
    or `above`; or, of classification, the 0/1 error with `error` ± `within`; or, where the run records the
    spectrum, the `rank` of the weights across targets. `of` says of which measure `below` and `above` speak.

    Over the whole curve, `never_below` and `never_above` name a bound that the curve respects, and `follows`
    one that it stays on, ± `within` and ± `standard_errors`; `same_as` names another learner whose curve it
    stays on, ± `within`. `diverges` says that the learner will.
    """

    text: Annotated[str, Meta(min_length=1, max_length=MOST_WORDS)]
    learner: Name
    k: Annotated[int, Meta(ge=0, le=MOST)] | None = None
    loss: float | None = None
    within: Annotated[float, Meta(ge=0, le=LARGEST)] | None = None
    standard_errors: Annotated[float, Meta(ge=0, le=LARGEST)] | None = None
    error: float | None = None
    rank: Annotated[int, Meta(ge=0, le=MOST)] | None = None
    below: float | None = None
    above: float | None = None
    of: MeasureName = "loss"
    never_below: Name | None = None
    never_above: Name | None = None
    follows: Name | None = None
    same_as: Name | None = None
    diverges: Literal[True] | None = None

    def __post_init__(self) -> None:
        at_k = ("loss", "error", "rank", "below", "above")
        forms = (*at_k, "never_below", "never_above", "follows", "same_as", "diverges")
        given = [form for form in forms if getattr(self, form) is not None]
        if len(given) != 1:
            raise BadField("text", f"a claim needs exactly one of {', '.join(forms)}")
        form = given[0]
        if form in at_k and self.k is None:
            raise BadField(
                "k", f"missing; a claim with {form!r} speaks of the {self.measure} after k examples"
            )
        meaningful = {
            "loss": {"k", "within", "standard_errors"},
            "error": {"k", "within"},
            "rank": {"k"},
            "below": {"k", "of"},
            "above": {"k", "of"},
            "same_as": {"within"},
            "diverges": set(),
        }.get(form, {"within", "standard_errors"})
        for name, default in (("k", None), ("within", None), ("standard_errors", None), ("of", "loss")):
            if getattr(self, name) != default and name not in meaningful:
                raise BadField(name, f"means nothing in a claim with {form!r}; leave it out")
        needs = form in ("loss", "error", "follows", "same_as")
        if needs and self.within is None and self.standard_errors is None:
            or_errors = ", or standard_errors = …" if "standard_errors" in meaningful else ""
            raise BadField(form, f"needs a tolerance: within = …{or_errors}")
        for name in ("loss", "error", "within", "standard_errors", "below", "above"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise BadField(name, f"{value} is not a finite number; no measurement could decide it")

    @property
    def measure(self) -> str:
        """What a claim about a single k speaks of."""
        return "error" if self.error is not None else "rank" if self.rank is not None else self.of


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A problem, a protocol, the learners that meet it, and what is claimed of the outcome."""

    problem: Problem
    protocol: AnyProtocol
    learners: Annotated[tuple[Learner, ...], Meta(min_length=1, max_length=MOST_LEARNERS)]
    title: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    story: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    source: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    run: Run = Run()
    claims: Annotated[tuple[Claim, ...], Meta(max_length=MOST_CLAIMS)] = ()


def check(experiment: Experiment) -> None:
    """See that the members of an experiment fit one another; types and ranges were checked when it was read.

    Raises: BadInput with the place, what is wrong there, and what would be right.
    """
    problem, matrix, target = experiment.problem, experiment.problem.matrix, experiment.problem.target
    if (n := matrix.shape()[0]) > MOST:
        raise BadInput("problem.matrix", f"{n} instances are too many; take at most {MOST}")
    target.check(matrix)
    if problem.labels != "soft" and target.values(matrix) == "bits":
        raise BadInput(
            "problem.labels",
            f"labels of {matrix.kind} are 0 and 1, and {problem.labels} is for others; take soft",
        )
    loss = catalogue.make("losses", experiment.protocol.loss)
    if loss.labels not in ("any", problem.label_values):
        needed = {"signs": "+1 and −1", "bits": "0 and 1"}[loss.labels]
        where = f"{matrix.kind} with target {target.kind}"
        why = "noise makes them real" if problem.noise > 0 else f"{where} has others"
        raise BadInput("protocol.loss", f"{loss.kind} loss needs labels {needed}, and {why}; take square")
    experiment.protocol.check(n, problem.label_values)
    names: dict[str, None] = {}
    for number, learner in enumerate(experiment.learners):
        if learner.name in names:
            raise BadInput(f"learners[{number}].name", f"{learner.name!r} is taken by an earlier learner")
        names[learner.name] = None
    for number, learner in enumerate(experiment.learners):
        if learner.update is not None and (reason := learner.update.refuses_loss(loss)):
            raise BadInput(f"learners[{number}].update", reason)
        if learner.solver is not None and (reason := learner.solver.refuses(matrix.shape()[1])):
            raise BadInput(f"learners[{number}].solver", reason)
    if experiment.run.spectrum and target.columns(matrix) == 1:
        raise BadInput("run.spectrum", "a spectrum across targets needs several; take target all or doubled")
    measures = named()
    last = experiment.protocol.last(n)
    for number, claim in enumerate(experiment.claims):
        if claim.learner not in names:
            known = ", ".join(repr(name) for name in names)
            raise BadInput(f"claims[{number}].learner", f"there is no {claim.learner!r} among {known}")
        if claim.same_as is not None and (claim.same_as not in names or claim.same_as == claim.learner):
            others = ", ".join(repr(name) for name in names if name != claim.learner)
            what = f"there is no {claim.same_as!r} among the other learners, {others}"
            raise BadInput(f"claims[{number}].same_as", what)
        if claim.k is not None and claim.k > last:
            raise BadInput(f"claims[{number}].k", f"{claim.k} is past the end, k = {last}")
        if claim.k is not None and (near := experiment.protocol.nearest(claim.k, n)) != claim.k:
            raise BadInput(f"claims[{number}].k", f"there is no record at {claim.k}; take {near}")
        if lack := measures[claim.measure].refuses(experiment):
            raise BadInput(f"claims[{number}]", f"{claim.measure} is measured only where {lack}")
        for field in ("never_below", "never_above", "follows"):
            bound = getattr(claim, field)
            if bound is not None and bound not in catalogue.members("bounds"):
                known = ", ".join(catalogue.members("bounds"))
                raise BadInput(f"claims[{number}].{field}", f"there is no bound {bound!r} among {known}")
