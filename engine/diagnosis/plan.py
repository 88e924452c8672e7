"""Plan of a diagnosis: the learners and their training sizes, which follow from the size of the table."""

from __future__ import annotations

from typing import NamedTuple

from engine.core.memory import free_bytes, in_words
from engine.core.parts import BadInput
from engine.core.texts import counted
from engine.diagnosis.descents import HIDDEN
from engine.diagnosis.labelled_table import LabelledTable
from engine.diagnosis.library_learners import LEAST_LEAF
from engine.diagnosis.pairs import DESCENTS, LEARNERS, PAIRS, DiagnosisLearner

SPLITS = 12
TEST_SHARE, MOST_TESTED = 0.3, 2000
"""Share of the rows that are test rows, and largest number of test rows."""

LEAST_ROWS = 40
"""Least number of rows of a table. With 40 rows, 28 rows are for training."""

LEAST_EXAMPLES, MOST_EXAMPLES = 20, 2000
DECIDED_FROM = 40
"""Number of examples at which pairs are judged.

If the table has more features, pairs are judged at as many examples as features, if there are enough rows.
"""

JUDGED_CELLS, SHOWN_CELLS = 1 << 19, 1 << 18
"""Largest number of cells (rows · features) to train on: for pairs with a verdict, and for other pairs."""

NEAR_THE_LAST = 0.75
"""Share of the largest training size up to which training sizes double.

If no training size is above this share, the largest training size is added.
"""

STEP_SPLITS = 4
"""Number of splits on which gradient-trained learners train side by side."""

MOST_BINS, MOST_LEAVES, BYTES_OF_BIN = 256, 32, 24
"""Boosted trees in scikit-learn: most bins per feature, most leaves of a tree, and bytes per bin.

The number of leaves includes the leaf that is being split.
"""

WORKERS = 2
"""Number of threads; each fits one split, or trains on STEP_SPLITS splits."""


class Plan(NamedTuple):
    """Plan of a diagnosis: numbers of training examples, of splits, and of test rows."""

    sizes: tuple[int, ...]
    """Training sizes of the learners that belong to a pair with a verdict, increasing."""

    shown_sizes: tuple[int, ...]
    """Training sizes of all other learners, whose losses are only shown."""

    decided_at: int
    """Number of examples at which pairs are judged."""

    splits: int
    tested: int
    rows: int
    features: int
    scores: int
    """Number of classes, or 1 if labels are numbers."""

    seed: int
    shows_all: bool
    """Whether pairs without a verdict are trained, too."""

    @property
    def remaining(self) -> int:
        """Number of rows that are not test rows."""
        return self.rows - self.tested

    @property
    def learners(self) -> tuple[DiagnosisLearner, ...]:
        names = {name for pair in PAIRS for name in pair.names if pair.judged or self.shows_all}
        return tuple(learner for learner in LEARNERS if learner.name in names)

    def sizes_of(self, learner: DiagnosisLearner) -> tuple[int, ...]:
        return self.sizes if learner.judged else self.shown_sizes

    def rotated_at(self, learner: DiagnosisLearner, size: int) -> bool:
        """Return whether a learner is also trained on rotated features, for `size` training examples.

        A learner that favours the feature axes is trained on rotated features at every training size. For all
        other learners, rotated features are only a control. They are trained on rotated features only at the
        size at which pairs are judged.
        """
        return learner.sees_axes or size == self.decided_at

    @property
    def memory(self) -> int:
        """Maximum memory in bytes that a diagnosis needs in addition to the table."""
        d, largest = self.features, max(self.sizes)
        rows = largest + self.tested
        split = 8 * (3 * rows * d + 3 * d**2 + 4 * largest * rows)
        if not self.shows_all:
            return WORKERS * split
        shown = max(self.shown_sizes)
        shown_rows = shown + self.tested
        splines = 8 * 7 * shown_rows * d
        histograms = BYTES_OF_BIN * min(shown, MOST_BINS) * min(shown // LEAST_LEAF + 1, MOST_LEAVES) * d
        in_float32 = STEP_SPLITS * (2 * shown_rows + 2 * shown + 8 * HIDDEN) * d + 8 * shown * HIDDEN
        descents = 4 * in_float32 + 8 * (STEP_SPLITS * d**2 + 4 * shown_rows * d)
        return WORKERS * max(split + splines + histograms, descents)

    @property
    def sentence(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        fits = sum(
            1 + self.rotated_at(learner, size) for learner in self.learners for size in self.sizes_of(learner)
        )
        return (
            f"{self.splits} splits of {self.rows} rows: learners learn from {sizes} rows, and are tested on "
            f"{self.tested} rows. The verdicts are for {self.decided_at} training rows. "
            f"This takes {self.splits * fits} fits and about {in_words(self.memory)} of memory."
        )


def plan_of(table: LabelledTable, seed: int = 0, splits: int = SPLITS, shows_all: bool = True) -> Plan:
    """Return a plan for the diagnosis of a table. Raises: BadInput for too few rows, or too little memory."""
    rows, d = table.features.shape
    if rows < LEAST_ROWS:
        raise BadInput(table.name, f"it has {counted(rows, 'row')}; the diagnosis takes {LEAST_ROWS} or more")
    if splits < 2:
        raise BadInput("splits", f"{splits} is too few for a confidence interval; take 2 or more")
    tested = min(int(TEST_SHARE * rows), MOST_TESTED)
    largest = min(rows - tested, MOST_EXAMPLES, max(LEAST_EXAMPLES, JUDGED_CELLS // d))
    decided_at = min(max(DECIDED_FROM, d), largest)
    sizes = [decided_at]
    if decided_at // 2 >= LEAST_EXAMPLES:
        sizes.insert(0, decided_at // 2)
    while 2 * sizes[-1] <= NEAR_THE_LAST * largest:
        sizes.append(2 * sizes[-1])
    if sizes[-1] <= NEAR_THE_LAST * largest:
        sizes.append(largest)
    shown = tuple(size for size in sizes if size * d <= SHOWN_CELLS) or (sizes[0],)
    plan = Plan(
        tuple(sizes),
        shown,
        decided_at,
        splits,
        tested,
        rows,
        d,
        len(table.classes) or 1,
        seed,
        shows_all,
    )
    if plan.memory > (free := free_bytes()):
        raise BadInput(
            table.name,
            f"the diagnosis needs about {in_words(plan.memory)} of memory, but only "
            f"{in_words(free)} are free; take fewer columns",
        )
    return plan


def is_descent(learner: DiagnosisLearner) -> bool:
    """Return whether a learner is trained by gradient descent, for several splits at once."""
    return learner.name in DESCENTS
