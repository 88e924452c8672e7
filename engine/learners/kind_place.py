"""Where the curves of a picture stand among those of the same kind of learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engine.core.parts import LearnerKind


class KindPlace(NamedTuple):
    """Kind of the learner of a curve, and the place of the curve among all of this kind."""

    kind: LearnerKind = "other"
    place: int = 0
    total: int = 1


def kind_places(kinds: Sequence[LearnerKind]) -> list[KindPlace]:
    """Return the kind of each curve, given for all curves in their order, with its place."""
    counts, passed = Counter(kinds), Counter[LearnerKind]()
    places = []
    for kind in kinds:
        places.append(KindPlace(kind, passed[kind], counts[kind]))
        passed[kind] += 1
    return places
