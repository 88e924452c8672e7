"""The outputs of one layer of tanh units as the targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from msgspec import Meta

from engine.core.parts import LARGEST, Count
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, Rows
from engine.problems.targets import Target, TargetStructure


class TanhLayer(Target, frozen=True, tag="tanh-layer"):
    """m targets y = tanh(s A x), where the m × d matrix A has independent N(0, 1) entries in each replica.

    With `normalised`, the m labels of every instance are scaled to the length √m. The targets are smooth
    functions of x, which nets can learn. Unlike labels of classes, these labels vary continuously. Source:
    Bernstein et al. 2023; theory/automatic-descent#majoriser, theory/symmetry#modern-optimizers.
    """

    outputs: Annotated[Count, Meta(title="targets m", description="number of units of the layer")] = 4
    scale: Annotated[
        float, Meta(gt=0, le=LARGEST, title="scale s", description="factor of the argument of tanh")
    ] = 1.0
    normalised: Annotated[
        bool, Meta(title="normalised", description="scale the labels of every instance to the length √m")
    ] = False

    def columns(self, matrix: Matrix) -> int:
        return self.outputs

    def structure(self, matrix: Matrix) -> TargetStructure:
        return TargetStructure(is_odd=True)

    def labels(self, matrix: Matrix, features: Callable[[], Rows], streams: Streams) -> Rows:
        layer = streams("target").normal(self.outputs, matrix.feature_count())
        labels: Rows = np.tanh(self.scale * (layer @ features().astype(np.float64).swapaxes(1, 2)))
        if self.normalised:
            lengths = np.linalg.norm(labels, axis=1, keepdims=True)
            labels *= np.sqrt(self.outputs) / np.where(lengths > 0, lengths, 1.0)
        return labels
