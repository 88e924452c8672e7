"""Mixtures of clusters, with several clusters per class."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from engine.core.parts import Count, Dimension
from engine.core.streams import Stream, Streams
from engine.problems.matrices import Matrix, MatrixStructure, RowNumbers, Rows


class Clusters(Matrix, frozen=True, tag="clusters"):
    """A mixture of K classes with C centres each: x = r (c + σ g/√d), g ~ N(0, I), or x = r (c + σ √U v).

    The K·C vectors c are uniform on the unit sphere, one draw per replica. The centre of a cluster is r c,
    with r = 1 or r = √d. The spread of a cluster, relative to r, is σ. For Gaussian clusters with r = √d,
    every entry has the standard deviation σ around its centre. With `spread` = ball, x has the second form.
    Then v is uniform on the unit sphere, and U is uniform in [0, 1], so no instance is farther from its
    centre than rσ. With `normalised`, every instance is finally scaled to the length r. Instance i belongs to
    cluster i mod K·C, and cluster j belongs to class j mod K. So clusters are as equally large as n allows.
    The target `classes` uses the classes as labels. Source: Oymak, Fabian, Li, Soltanolkotabi 2019;
    theory/parities-and-noise#wrong-labels, theory/parities-and-noise#nuisance-space,
    theory/parities-and-noise#mixtures, theory/curvature#hessian, theory/curvature#collapse.
    """

    classes: Annotated[Dimension, Meta(title="classes K", description="number of classes of instances")] = 2
    centres: Annotated[Count, Meta(title="centres C", description="number of clusters in each class")] = 1
    d: Annotated[Dimension, Meta(title="d", description="number of features")] = 20
    n: Annotated[Count, Meta(title="rows n", description="number of instances")] = 240
    sigma: Annotated[
        float,
        Meta(
            ge=0,
            le=1e6,
            title="spread σ",
            description="spread of a cluster, relative to the length r of its centre",
        ),
    ] = 0.1
    spread: Annotated[
        Literal["gaussian", "ball"],
        Meta(title="shape", description="shape of a cluster: Gaussian, or within a ball of radius r σ"),
    ] = "gaussian"
    radius: Annotated[
        Literal["1", "sqrt(d)"], Meta(title="radius r", description="length of the cluster centres")
    ] = "1"
    normalised: Annotated[
        bool, Meta(title="normalised", description="scale every instance to the length r")
    ] = False

    def structure(self) -> MatrixStructure:
        return super().structure()._replace(class_count=self.classes)

    def size(self) -> tuple[int, int]:
        return self.n, self.d

    def row_numbers(self, streams: Streams) -> RowNumbers:
        clusters = np.tile(self._cluster_numbers(), (len(streams.seeds), 1))
        return RowNumbers(classes=clusters % self.classes, subclasses=clusters)

    @property
    def second_moment(self) -> float | None:
        around = self.sigma**2 * (1 if self.spread == "gaussian" else 0.5)
        return self._sphere_radius**2 * (1 if self.normalised else 1 + around) / self.d

    def rows(self, streams: Streams) -> Rows:
        clusters = self._cluster_numbers()
        centres = streams("centres").normal(int(clusters.max()) + 1, self.d)
        centres /= np.linalg.norm(centres, axis=2, keepdims=True)
        rows = self._deviations(streams("matrix"))
        rows += centres[:, clusters]
        if self.normalised:
            rows /= np.linalg.norm(rows, axis=2, keepdims=True)
        rows *= self._sphere_radius
        return rows

    def _deviations(self, draws: Stream) -> Rows:
        rows = draws.normal(self.n, self.d)
        if self.spread == "gaussian":
            rows *= self.sigma / np.sqrt(self.d)
        else:
            rows /= np.linalg.norm(rows, axis=2, keepdims=True)
            rows *= self.sigma * np.sqrt(draws.uniform(self.n, 1))
        return rows

    @property
    def _sphere_radius(self) -> float:
        return 1.0 if self.radius == "1" else float(np.sqrt(self.d))

    def _cluster_numbers(self) -> NDArray[np.int64]:
        return np.arange(self.n) % (self.classes * self.centres)
