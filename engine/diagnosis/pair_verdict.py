"""Rule that decides whether an axis-aligned bias pays, from two learners' losses on repeated splits."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from engine.diagnosis.labelled_table import Floats

Word = Literal["axes pay", "invariance pays", "not decided"]

LEVEL = 0.95
"""Level of the confidence intervals."""


class ConfidenceInterval(NamedTuple):
    """Mean of log-ratios of losses over splits, with the confidence interval of this mean."""

    mean: float
    low: float
    high: float

    @property
    def is_positive(self) -> bool:
        return self.low > 0

    @property
    def is_negative(self) -> bool:
        return self.high < 0


def corrected_interval(ratios: Floats, tested: int, remaining: int) -> ConfidenceInterval:
    """Return the mean of log-ratios [J] over J splits, ± t · s · √(1/J + t_e/(n − t_e)).

    Here s is the standard deviation of the ratios, and t a quantile of Student's distribution. Splits share
    rows, so their ratios are correlated. The second term under the root corrects for this correlation.

    Args:
        tested: rows of each test set, t_e.
        remaining: all other rows, n − t_e.

    Source: Nadeau, Bengio 2003 (corrected resampled t).
    """
    from scipy.stats import t  # type: ignore[import-untyped]

    splits = len(ratios)
    half = t.ppf((1 + LEVEL) / 2, splits - 1) * ratios.std(ddof=1) * np.sqrt(1 / splits + tested / remaining)
    mean = float(ratios.mean())
    return ConfidenceInterval(mean, mean - float(half), mean + float(half))


class PairLosses(NamedTuple):
    """Losses of a pair of learners on J splits of a table, before and after a rotation of the features.

    All losses are at the same number of training examples. Each field has the shape [J].
    """

    axes: Floats
    """Loss of the learner that depends on the feature axes."""

    axes_rotated: Floats
    invariant: Floats
    invariant_rotated: Floats
    constant: Floats
    """Loss of the best constant prediction of the training labels."""


class PairVerdict(NamedTuple):
    """Verdict on a pair of learners, and the intervals that decide it.

    A is the learner that depends on the feature axes, and B is its rotation-invariant partner. Each of the
    four intervals is for the logarithm of a ratio of two losses. The docstring of its field states the ratio.
    If an interval is above 0, the loss in the numerator is larger.
    """

    word: Word
    rotation: ConfidenceInterval
    """ln(loss of A after rotation / loss of A): how much rotation harms A."""

    gap: ConfidenceInterval
    """ln(loss of B / loss of A): how much better A is than B."""

    control: ConfidenceInterval
    """ln(loss of B after rotation / loss of B), which must be 0 up to rounding."""

    gain: ConfidenceInterval
    """ln(loss of a constant / loss of the better learner): whether anything was learned."""


def judge_pair(losses: PairLosses, tested: int, remaining: int) -> PairVerdict:
    """Return the verdict on a pair: learner A, which depends on the feature axes, and invariant partner B.

    The intervals are those of `PairVerdict`. An axis-aligned bias pays if `rotation` and `gap` lie above 0:
    rotation harms A, and A is better than B. Invariance pays if `gap` lies below 0: B is better than A. Both
    verdicts also require that `gain` lies above 0: the better learner beats a constant prediction. Otherwise,
    on labels without a signal, the learner that overfits less would win.

    Args:
        tested: number of rows in each test set.
        remaining: number of all other rows.
    """
    rotation, gap, control = (
        corrected_interval(np.log(above / below), tested, remaining)
        for above, below in (
            (losses.axes_rotated, losses.axes),
            (losses.invariant, losses.axes),
            (losses.invariant_rotated, losses.invariant),
        )
    )
    better = losses.axes if gap.mean > 0 else losses.invariant
    gain = corrected_interval(np.log(losses.constant / better), tested, remaining)
    word: Word = "not decided"
    if gain.is_positive and rotation.is_positive and gap.is_positive:
        word = "axes pay"
    elif gain.is_positive and gap.is_negative:
        word = "invariance pays"
    return PairVerdict(word, rotation, gap, control, gain)
