"""Texts for the results of a diagnosis: sentences, and values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from engine.core.texts import counted, cut, listed
from engine.diagnosis.diagnosing import Diagnosis
from engine.diagnosis.labelled_table import Floats, standardised
from engine.diagnosis.pair_verdict import ConfidenceInterval, PairVerdict
from engine.diagnosis.pairs import PAIRS, LearnerPair, learner_called
from engine.diagnosis.plan import SPLITS

NAMED_FEATURES = 5
LEAST_IMPORTANCE = 0.05
"""Share of the total importance from which an answer names a feature."""

LONGEST_FEATURE = 30


def headline(diagnosis: Diagnosis) -> str:
    """Return the main result of a diagnosis in one sentence."""
    words = {pair: verdict.word for pair, verdict in diagnosis.verdicts.items()}
    at = f"at {diagnosis.plan.decided_at} examples"
    paying = [pair for pair in PAIRS if words.get(pair.name) == "axes pay"]
    if paying:
        biases = " and ".join(pair.bias for pair in paying)
        against = [pair for pair in PAIRS if words.get(pair.name) == "invariance pays"]
        sentence = f"The feature axes matter: {at}, a bias towards {biases} lowers the loss"
        if not against:
            return f"{sentence}."
        first, second = _titles_of_pair(against[0])
        return f"{sentence}, but {second} has a lower loss than {first}."
    if "invariance pays" in words.values():
        return (
            f"{at.capitalize()}, an axis-aligned bias raises the loss: a rotation-invariant learner has a "
            "lower loss."
        )
    return f"The data do not decide whether an axis-aligned bias lowers the loss {at}."


def answers(diagnosis: Diagnosis) -> list[str]:
    """Return the results of a diagnosis as sentences with numbers. The main result is first."""
    sentences = [headline(diagnosis)]
    for pair in PAIRS:
        if pair.name in diagnosis.verdicts:
            sentences += _sentences_about_pair(diagnosis, pair, diagnosis.verdicts[pair.name])
    return [*sentences, _sentence_about_span(diagnosis)]


def examples_to_reach(sizes: Sequence[int], losses: Floats, target: float) -> float:
    """Return the number of examples after which a learner's mean loss is first at most `target`.

    Between two training sizes, log m is interpolated linearly in the logarithm of the loss, for m examples.
    If no mean loss is at most `target`, the result is infinity.

    Args:
        sizes: training sizes, increasing.
        losses: mean loss of the learner at each training size.
    """
    for place, loss in enumerate(losses):
        if loss > target:
            continue
        if place == 0:
            return float(sizes[0])
        before, size = sizes[place - 1], sizes[place]
        share = math.log(losses[place - 1] / target) / math.log(losses[place - 1] / loss)
        return math.exp(math.log(before) + share * math.log(size / before))
    return math.inf


def span_bound(features: Floats) -> Floats:
    """Return a lower bound on the loss of linear learners: Σ_{i>k} s_i²/Σ s_i², for k = 0 … d.

    Here s₁ ≥ s₂ ≥ … are the singular values of the standardised columns. Suppose that each of the d columns
    is the label in turn, and that weights stay in the span of the k rows seen. The learner's loss in units of
    the label's variance, averaged over rows and labels, is then at least this bound. Source: WV05.
    """
    (columns,) = standardised(features, [])
    squares = np.maximum(np.linalg.eigvalsh(columns.T @ columns)[::-1], 0)
    total = squares.sum() or 1.0
    return np.append(np.cumsum(squares[::-1])[::-1], 0) / total


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis as values for JSON, with None for numbers that are not finite."""
    plan, table = diagnosis.plan, diagnosis.table
    return {
        "schema": 1,
        "data": table.name,
        "label": table.label,
        "classes": [*table.classes],
        "notes": [*table.notes],
        "rows": plan.rows,
        "features": [*table.feature_names],
        "loss": "0/1 error" if table.is_classified else "squared error / variance",
        "seed": plan.seed,
        "splits": plan.splits,
        "tested": plan.tested,
        "examples": [*plan.sizes],
        "decided_at": plan.decided_at,
        "answers": answers(diagnosis),
        "pairs": [_pair_as_json(diagnosis, pair) for pair in PAIRS if pair.axes in diagnosis.losses],
        "learners": {
            name: {
                side: {
                    "mean": _finite_numbers(diagnosis.mean(name, rotated)),
                    "stderr": _finite_numbers(diagnosis.error(name, rotated)),
                }
                for side, rotated in (("loss", False), ("rotated", True))
            }
            for name in diagnosis.losses
        },
        "importances": {name: _finite_numbers(shares) for name, shares in diagnosis.importances.items()},
        "chosen_by_l1": _finite_numbers(diagnosis.chosen),
        "span_bound": _finite_numbers(span_bound(table.features)),
    }


def _pair_as_json(diagnosis: Diagnosis, pair: LearnerPair) -> dict[str, Any]:
    verdict = diagnosis.verdicts.get(pair.name)
    described: dict[str, Any] = {"name": pair.name, "axes": pair.axes, "partner": pair.partner}
    if verdict is None:
        return described | {"verdict": None}
    ratios = {
        name: dict(zip(ConfidenceInterval._fields, _finite_numbers(np.array(interval)), strict=True))
        for name, interval in zip(PairVerdict._fields[1:], verdict[1:], strict=True)
    }
    return described | {"verdict": verdict.word} | ratios


def _finite_numbers(numbers: Floats) -> list[float | None]:
    return [number if math.isfinite(number) else None for number in numbers.tolist()]


def _titles_of_pair(pair: LearnerPair) -> tuple[str, str]:
    return learner_called(pair.axes).title, learner_called(pair.partner).title


def _sentences_about_pair(diagnosis: Diagnosis, pair: LearnerPair, verdict: PairVerdict) -> Iterator[str]:
    place = diagnosis.plan.sizes.index(diagnosis.plan.decided_at)
    axes_loss, partner_loss = (diagnosis.mean(name)[place] for name in pair.names)
    turned = diagnosis.mean(pair.axes, rotated=True)[place]
    axes, partner = _titles_of_pair(pair)
    unit = "error" if diagnosis.table.is_classified else "loss"
    yield (
        f"{axes} against {partner}: {verdict.word}. {axes} has {unit} {axes_loss:.3f}, and {partner} has "
        f"{unit} {partner_loss:.3f}. After a random rotation of the columns, {axes} has {unit} {turned:.3f}."
    )
    if verdict.word == "not decided":
        yield _reason_for_no_verdict(verdict, axes, partner, diagnosis.plan.splits)
        return
    yield (
        f"Rotation multiplies the loss of {axes} by {_factor_with_interval(verdict.rotation)}. The loss of "
        f"{partner} is {_factor_with_interval(verdict.gap)} times the loss of {axes}. Brackets are 95 % "
        "confidence intervals."
    )
    winner, other = pair.names if verdict.word == "axes pay" else (pair.partner, pair.axes)
    yield _saved_examples_in_words(diagnosis, winner, other, place)
    if verdict.word == "axes pay":
        yield f"{axes} relies on {_features_in_words(diagnosis, pair.axes)}."


def _reason_for_no_verdict(verdict: PairVerdict, axes: str, partner: str, splits: int) -> str:
    if not verdict.gain.is_positive:
        few = f" {splits} splits are few: take the default of {SPLITS}." if splits < SPLITS else ""
        return (
            f"The loss of a constant prediction is {_factor_with_interval(verdict.gain)} times the loss of "
            f"the better learner. The interval in brackets is not above 1, so nothing is decided.{few}"
        )
    reasons = []
    if not verdict.rotation.is_positive:
        reasons.append(f"rotation multiplies the loss of {axes} by {_factor_with_interval(verdict.rotation)}")
    if not verdict.gap.is_positive:
        reasons.append(
            f"the loss of {partner} is {_factor_with_interval(verdict.gap)} times the loss of {axes}"
        )
    return f"Nothing is decided, because an interval in brackets is not above 1: {'; '.join(reasons)}."


def _factor_with_interval(interval: ConfidenceInterval) -> str:
    mean, low, high = (math.exp(min(number, 700.0)) for number in interval)
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def _saved_examples_in_words(diagnosis: Diagnosis, winner: str, other: str, place: int) -> str:
    """Return a sentence that says how many examples the better learner of a pair saves.

    The sentence compares the numbers of examples that both learners need for the same loss. This loss is that
    of `winner` at the training size at which the pair is judged.

    Args:
        place: index of this training size in `diagnosis.plan.sizes`.
    """
    sizes = diagnosis.plan.sizes
    target = float(diagnosis.mean(winner)[place])
    needed = examples_to_reach(sizes, diagnosis.mean(other), target)
    better, worse = learner_called(winner).title, learner_called(other).title
    if math.isinf(needed):
        least = sizes[-1] - sizes[place]
        return (
            f"{worse} needs more than {sizes[-1]} examples for the loss that {better} has after "
            f"{sizes[place]}: {better} saves more than {counted(least, 'example')}."
        )
    saved = round(needed) - sizes[place]
    return (
        f"{worse} needs about {needed:.0f} examples for the loss that {better} has after {sizes[place]}: "
        f"{better} saves about {counted(saved, 'example')}."
    )


def _features_in_words(diagnosis: Diagnosis, learner: str) -> str:
    shares = diagnosis.importances[learner]
    order = np.argsort(-shares, kind="stable")[:NAMED_FEATURES]
    names = diagnosis.table.feature_names
    named = [place for place in order.tolist() if shares[place] >= LEAST_IMPORTANCE] or [int(order[0])]
    return listed(f"{cut(names[place], LONGEST_FEATURE)} ({100 * shares[place]:.0f} %)" for place in named)


def _sentence_about_span(diagnosis: Diagnosis) -> str:
    """Return a sentence about `span_bound`, for linear learners that start at 0, such as GD."""
    bound = span_bound(diagnosis.table.features)
    k = len(bound) // 4 or 1
    return (
        f"Suppose that each of the {len(bound) - 1} features in turn is the label. After "
        f"{counted(k, 'example')}, linear learners that start at 0, such as GD, then have a mean loss of at "
        f"least {bound[k]:.2f} times the label's variance. The singular values of the features give this "
        "bound."
    )
