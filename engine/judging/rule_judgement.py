"""Judgement of an update rule: its symmetries, and its losses beside the bound on invariant learners."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from engine.core.device import threads
from engine.core.parts import BadInput, Verdict
from engine.core.texts import listed
from engine.results.trace import Curve
from engine.runtime.run import run
from engine.spec import reading
from engine.spec.experiment import Experiment
from engine.symmetry import rules
from engine.symmetry.rules import Symmetry
from engine.updates import Update

if TYPE_CHECKING:
    import pandas

RATES = 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0
"""Rates that are tried for every rule. For each number of examples, the best rate counts."""

D, STEPS, SPACING = 64, 150, 8
"""Number of features, steps per model, and distance between numbers of examples."""

ROUND = 10
"""Steps between two reports of progress. The models of all numbers of examples advance together."""

CONVERGED = 1e-12
"""Training loss at which training ends."""

MARKS = D // 4, D // 2
"""Numbers of examples k that are compared with the bound."""

REPLICAS = 8

PROBLEMS = {
    "Hadamard rows": {
        "matrix": {"kind": "hadamard", "d": D, "permute": True, "row_signs": True},
        "target": {"kind": "feature", "index": 3},
    },
    "sparse Gaussian target": {
        "matrix": {"kind": "gaussian", "d": D},
        "target": {"kind": "sparse", "r": 1},
    },
}
"""Problems by name. In both, a single feature determines the label."""

MEASURES = {"Hadamard rows": "loss", "sparse Gaussian target": "excess-risk"}
"""Measure by problem: the loss over all rows, or on fresh rows."""

FITTED = 1e-3
"""Training loss below which a rate is said to fit the k examples.

If the rate is too low, the loss stays near 1.
"""

ON_BOUND = 3.0
"""Largest distance from the bound, in standard errors, at which a loss counts as on the bound."""

INTERPOLATES = 1e-6
"""Largest distance from the bound at which a loss counts as on the bound, even if its standard error is 0."""

Going = Callable[[float], object]
"""Callback that is called repeatedly with the finished share; an exception ends the work."""


class LossBesideBound(NamedTuple):
    """Loss of an update rule after k examples, at its best rate, and a lower bound to compare it with.

    The bound 1 − k/d holds for the mean loss of rotation-invariant learners.
    """

    k: int
    loss: float
    stderr: float
    rate: float | None
    """Best rate; None for a rule without a rate."""

    bound: float
    """Lower bound on the mean loss of rotation-invariant learners. Source: WKA21 Thms 2, 6."""

    def __str__(self) -> str:
        rate = "" if self.rate is None else f" at rate {self.rate:g}"
        bound = f"the lower bound {self.bound:g} for rotation-invariant learners"
        return f"after {self.k} examples: loss {self.numbers}{rate}, {self.word} {bound}"

    @property
    def numbers(self) -> str:
        """Loss and its standard error as text, such as "0.501 ± 0.002".

        If the loss is below or above the bound, it has enough decimal places to differ visibly from the
        bound.
        """
        places = 3
        if self.word in ("below", "above"):
            places = next((number for number in range(3, 6) if self._differs_when_rounded(number)), 6)
        return f"{self.loss:.{places}f} ± {self.stderr:.{places}f}"

    def _differs_when_rounded(self, places: int) -> bool:
        return f"{self.loss:.{places}f}" != f"{self.bound:.{places}f}"

    @property
    def word(self) -> str:
        """Position of the loss relative to the bound: `below`, `on` or `above`; or `diverged`."""
        if not math.isfinite(self.loss):
            return "diverged"
        if abs(self.loss - self.bound) <= max(ON_BOUND * self.stderr, INTERPOLATES):
            return "on"
        return "below" if self.loss < self.bound else "above"


@dataclass(frozen=True, repr=False)
class RuleJudgement:
    """Symmetries of an update rule, and its losses on problems in which the label equals one feature."""

    name: str
    declared: Sequence[Verdict]
    """Verdicts by structure on a neuron, and on a net if the rule trains nets."""

    symmetries: Sequence[Symmetry]
    contradictions: Sequence[str]
    """Sentences on measurements that contradict the verdicts by structure."""

    losses: Mapping[str, Sequence[LossBesideBound]]
    """Losses by problem, at every k."""

    refused: Mapping[str, str]
    """Reasons why some problems have no losses, by problem."""

    rate: float | None = None
    """Learning rate at which the symmetries were measured; None for a rule without a single rate."""

    def __str__(self) -> str:
        lines = [f"{self.measured}{self.at_rate}", *self.by_structure]
        lines += [symmetry.sentence for symmetry in self.symmetries]
        lines += [f"{problem}, {point}" for problem, points in self.losses.items() for point in points]
        lines += [f"{problem}: not run; {reason}" for problem, reason in self.refused.items()]
        return "\n".join([*lines, *self.contradictions, *filter(None, [self.warning])])

    def __repr__(self) -> str:
        return f"<Judgement of {self.measured}>"

    def to_json(self) -> str:
        """Convert the judgement to JSON, as `hadamard-tui judge --json` prints it.

        The list of loaded parts is left out.
        """
        return json.dumps(as_json(self), ensure_ascii=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the losses as a pandas frame, with a row per problem and k. `attrs` holds the symmetries."""
        return _frame_of_judgement(self)

    @property
    def measured(self) -> str:
        """The measured symmetries in one sentence."""
        groups: dict[str, list[str]] = {"invariant": [], "not invariant": [], "unstable": []}
        for symmetry in self.symmetries:
            groups[symmetry.word].append(symmetry.group)
        words = [f"{word} under {listed(names)}" for word, names in groups.items() if names]
        return f"{self.name}, by measurement: {'; '.join(words)}"

    @property
    def by_structure(self) -> list[str]:
        """Verdicts on invariance that follow from the rule's structure: for a linear neuron, then for a net.

        If both verdicts name the same group, they share one text. If a verdict is undecided, the last text
        states the consequence for runs.
        """
        if len({verdict.group for verdict in self.declared}) == 1:
            sentences = [f"By its declared structure, the rule is {self.declared[0].sentence}"]
        else:
            models = ("a neuron", "a net")
            sentences = [
                f"By its declared structure, the rule on {model} is {verdict.sentence}"
                for model, verdict in zip(models, self.declared, strict=False)
            ]
        if any(verdict.undecided for verdict in self.declared):
            sentences.append(
                "In runs, bounds on rotation-invariant learners apply only to rules that declare their "
                "invariance (method `invariance`). So these bounds do not apply to this rule"
            )
        return sentences

    @property
    def at_rate(self) -> str:
        """Text such as " (at η = 0.1)" for the rate at which the symmetries were measured."""
        return "" if self.rate is None else f" (at η = {self.rate:g})"

    @property
    def broken(self) -> list[LossBesideBound]:
        """Losses below the lower bound, although the rule is measured to be rotation invariant.

        The list is empty for any other rule. It is also empty for a rule with a precision below float64,
        which is invariant only up to its rounding errors.
        """
        rotations = self.symmetry("rotations")
        if rotations.word != "invariant" or rotations.precisions:
            return []
        return [point for points in self.losses.values() for point in points if point.word == "below"]

    @property
    def warning(self) -> str:
        """Sentence about losses below the bound although the rule is rotation invariant, or an empty text."""
        if not self.broken:
            return ""
        return (
            "the rule is invariant under rotations at its default rate, but not at rates at which its loss is"
            " below the bound"
        )

    def symmetry(self, group: str) -> Symmetry:
        """Return the symmetry that was measured for the group called `group`."""
        return next(symmetry for symmetry in self.symmetries if symmetry.group == group)

    def at(self, problem: str, k: int) -> LossBesideBound | None:
        """Return the rule's loss on a problem after k examples, or None if there is no loss for this k."""
        return next((point for point in self.losses.get(problem, ()) if point.k == k), None)


def judge_rule(
    update: Update, name: str = "", spacing: int = SPACING, going: Going = lambda done: None
) -> RuleJudgement:
    """Return the judgement of an update rule.

    Symmetries are measured at the rule's own rate. Losses are measured on a linear neuron that starts at 0.
    It is trained on the first k examples for at most STEPS steps, with a rate that falls to 0 like a cosine.

    All RATES are tried as first rate. Among the rates at which the neuron fits the examples, the rate with
    the least loss counts. If the neuron fits them at no rate, the rate with the least loss of all counts.

    Raises: BadInput for a rule that cannot train a linear neuron, or that changes no weights.
    """
    losses, refused = {}, {}
    parts = 1 + len(PROBLEMS)
    with threads(1):  # with small tensors, several threads would not be faster
        symmetries = rules.symmetries(update, going=lambda share: going(share / parts))
        for number, problem in enumerate(PROBLEMS, start=1):

            def of_problem(share: float, number: int = number) -> None:
                going((number + share) / parts)

            try:
                losses[problem] = losses_on(problem, update, spacing, of_problem)
            except BadInput as error:
                refused[problem] = error.fault
    going(1.0)
    verdicts = rules.declared(update)
    contradictions = rules.contradictions(verdicts, symmetries)
    rate: object = getattr(update, "lr", None)
    return RuleJudgement(
        name or update.kind,
        verdicts,
        symmetries,
        contradictions,
        losses,
        refused,
        float(rate) if isinstance(rate, int | float) else None,
    )


def losses_on(
    problem: str, update: Update, spacing: int = SPACING, going: Going = lambda done: None
) -> list[LossBesideBound]:
    """Train an update rule on a problem, and return its losses after k examples.

    k is 0, `spacing`, 2 `spacing` and so on, up to the larger of MARKS.

    Raises: BadInput.
    """
    updates = count(0, ROUND)

    def gate() -> int:
        going(min(next(updates) / STEPS, 1.0))
        return ROUND

    trace = run(contest(problem, update, spacing), gate)
    points = []
    for record, k in enumerate(range(0, MARKS[-1] + 1, spacing)):
        by_rate = [_LossAtRate.of(curve, MEASURES[problem], record) for curve in trace.curves]
        best = min(by_rate, key=lambda at_rate: (at_rate.training_loss > FITTED, at_rate.loss))
        points.append(LossBesideBound(k, best.loss, best.stderr, best.rate, 1 - k / D))
    return points


class _LossAtRate(NamedTuple):
    """Mean losses of an update rule at one of the tried rates; infinite if a replica diverges."""

    rate: float | None
    loss: float
    stderr: float
    training_loss: float

    @classmethod
    def of(cls, curve: Curve, measure: str, record: int) -> _LossAtRate:
        """Return the mean losses of a curve at the evaluation point `record`."""
        losses, training = (np.asarray(curve.values(name)) for name in (measure, "train"))
        if record >= len(losses) or not np.isfinite(losses[record]).all():
            return cls(curve.rate, math.inf, math.nan, math.inf)
        mean = float(losses[record].mean())
        # Without examples, no rate has a training loss.
        training_loss = float(training[record].mean()) if record else 0.0
        return cls(
            curve.rate,
            mean,
            float(losses[record].std(ddof=1) / math.sqrt(losses[record].size)),
            training_loss,
        )


def contest(problem: str, update: Update, spacing: int = SPACING) -> Experiment:
    """Return the experiment that trains an update rule on a problem with each of the RATES."""
    document = msgspec.to_builtins(update)
    scheduled = {}
    if "lr" in document:
        document["lr"] = RATES
        scheduled = {"schedule": {"kind": "cosine", "steps": STEPS}}
    learner = {"name": "rule", "architecture": "linear", "update": document, **scheduled}
    return reading.parse(
        {
            "problem": PROBLEMS[problem],
            "protocol": {
                "kind": "erm",
                "every": spacing,
                "examples": MARKS[-1],
                "steps": STEPS,
                "tolerance": CONVERGED,
            },
            "run": {"device": "cpu", "dtype": "float64", "replicas": REPLICAS},
            "learners": [learner],
            "pictures": [
                {"name": "loss", "x": "k", "measure": MEASURES[problem]},
                {"name": "training loss", "x": "k", "measure": {"kind": "loss", "rows": "train"}},
            ],
        }
    )


def as_json(judged: RuleJudgement) -> dict[str, Any]:
    """Return a judgement as `judge --json` and `--out` write it."""
    return {
        "schema": 1,
        "rule": judged.name,
        "structure": [
            {"answer": verdict.answer, "group": verdict.group.words, "reason": verdict.reason}
            for verdict in judged.declared
        ],
        "symmetries": [
            {
                "group": symmetry.group,
                "verdict": symmetry.word,
                "change": _finite_or_none(symmetry.change),
                "by_rounding": _finite_or_none(symmetry.by_rounding),
                "precisions": symmetry.precisions,
            }
            for symmetry in judged.symmetries
        ],
        "rate_of_symmetries": judged.rate,
        "agree": not judged.contradictions,
        "d": D,
        "rates": RATES,
        "losses": {
            problem: [
                {
                    "k": point.k,
                    "loss": _finite_or_none(point.loss),
                    "stderr": _finite_or_none(point.stderr),
                    "rate": point.rate,
                    "bound": point.bound,
                    "place": point.word,
                }
                for point in points
            ]
            for problem, points in judged.losses.items()
        },
        "not_run": dict(judged.refused),
    }


def _finite_or_none(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _frame_of_judgement(judged: RuleJudgement) -> pandas.DataFrame:
    import pandas

    rows = [
        {"problem": problem, **point._asdict(), "place": point.word}
        for problem, points in judged.losses.items()
        for point in points
    ]
    frame = pandas.DataFrame(rows)
    frame.attrs |= {"rule": judged.name}
    frame.attrs |= {symmetry.group: symmetry.word for symmetry in judged.symmetries}
    return frame
