"""Declared moments of matrix families against measured ones."""

import numpy as np
import pytest
from building import data_of, experiment
from discovery import asked, name_of, ready, variants

from engine.core import catalogue
from engine.core.streams import Streams
from engine.problems.matrices import Matrix, MatrixStructure, drawn_rows
from engine.problems.matrices.gaussian import Gaussian

pytestmark = pytest.mark.slow

D, REPLICAS, ERRORS = 8, 1000, 5

FAMILIES = [
    {**ready("matrices", kind, "absent.npy", D), **words}
    for kind, member in catalogue.members("matrices").items()
    if kind != "file"  # what it declares, its file says
    for words in (*variants(member), {"kind": kind, "repeat": 2})
]


def matrix_of(words):
    return catalogue.make("matrices", **words)


DECLARING = [
    words
    for words in FAMILIES
    if matrix_of(words).structure().isotropic or matrix_of(words).second_moment is not None
]


def instances(words):
    return data_of(experiment(words, "constant", replicas=REPLICAS)).instances.rows.numpy()


def off(values, expected):
    """Distance of the mean over replicas from the expected value, in standard errors; 0 for rounding."""
    gap = abs(values.mean(0) - expected)
    return np.where(gap < 1e-9, 0.0, gap / np.maximum(values.std(0) / np.sqrt(len(values)), 1e-12)).max()


def declared(moment, d):
    """Σ [d, d] as a family declares it: itself, or σ²."""
    return moment * np.eye(d) if np.ndim(moment) == 0 else moment


def moments(rows):
    """(1/n) Σ_j x_j x_jᵀ of every replica, [R, d, d]."""
    return rows.swapaxes(1, 2) @ rows / rows.shape[1]


def fourth_moments(rows):
    """The mean of (u·x)⁴ over rows, of every replica, along an axis and along a diagonal: 3σ⁴ both."""
    along = np.stack((rows[:, :, 0], rows.sum(2) / np.sqrt(rows.shape[2])), 2)
    return (along**4).mean(1)


def correlations(rows):
    """The mean of (x_j·x_{j+1})²/d over rows, of every replica: σ⁴ if they are independent, [R, 1]."""
    return ((rows[:, :-1] * rows[:, 1:]).sum(2) ** 2).mean(1, keepdims=True) / rows.shape[2]


@pytest.mark.parametrize("words", DECLARING, ids=name_of)
def test_a_matrix_family_has_its_declared_moments(words):
    matrix = matrix_of(words)
    drawn = drawn_rows(matrix, Streams(range(REPLICAS))).astype(float)  # rotation makes all directions alike
    assert off(moments(drawn), declared(matrix.second_moment, drawn.shape[2])) <= ERRORS
    if matrix.structure().isotropic:
        rows = instances(words)
        assert off(fourth_moments(rows), 3 * matrix.second_moment**2) <= ERRORS
        assert off(correlations(rows), matrix.second_moment**2) <= ERRORS


@pytest.mark.parametrize(
    "words", [words for words in FAMILIES if matrix_of(words).structure().has_no_direction], ids=name_of
)
def test_direction_free_rows_are_independent_with_equal_moments_on_axes_and_diagonals(words):
    rows, moment = instances(words), matrix_of(words).second_moment
    along_axis, along_diagonal = np.moveaxis(fourth_moments(rows), 1, 0)
    assert off((along_axis - along_diagonal)[:, None], 0) <= ERRORS
    assert off(correlations(rows), moment**2) <= ERRORS
    assert off(rows.mean(1), 0) <= ERRORS


def test_gaussian_and_sphere_rows_have_no_direction_but_rademacher_and_hadamard_rows_do():
    kinds = {words["kind"] for words in FAMILIES if matrix_of(words).structure().has_no_direction}
    assert kinds >= {"gaussian", "sparse", "threshold", "sphere"}
    assert not kinds & {"rademacher", "hadamard", "orthogonal"}
    assert not matrix_of({"kind": "sphere", "repeat": 1}).structure().has_no_direction


def test_moment_checks_detect_preferred_directions_and_dependent_rows():
    assert off(fourth_moments(instances({"kind": "rademacher", "d": D})), 3) > ERRORS
    assert off(correlations(instances({"kind": "gaussian", "d": D, "repeat": 1})), 1) > ERRORS
    assert off(moments(instances({"kind": "hadamard01", "d": D})), np.eye(D)) > ERRORS


def test_all_drawn_matrix_families_declare_moments():
    declaring = {words["kind"] for words in DECLARING}
    assert set(asked("matrices")) - declaring <= {"bundled", "digits", "file"}, "what is drawn has a law"
    assert {words["kind"] for words in DECLARING if matrix_of(words).structure().isotropic} >= {
        "gaussian",
        "sparse",
        "threshold",
    }


class Toeplitz(Matrix, frozen=True, tag="toeplitz"):
    """Gaussian rows whose entries i and j have the covariance ρ^|i − j|."""

    d: int = D
    rho: float = 0.6

    def size(self):
        return 20, self.d

    @property
    def second_moment(self):
        places = np.arange(self.d)
        return self.rho ** abs(places[:, None] - places)

    def rows(self, streams):
        root = np.linalg.cholesky(self.second_moment)
        return streams("matrix").normal(*self.size()) @ root.T


class Forgetful(Toeplitz, frozen=True, tag="forgetful"):
    """Rows that ignore ρ."""

    @property
    def second_moment(self):
        return super().second_moment

    def rows(self, streams):
        return streams("matrix").normal(*self.size())


@pytest.mark.parametrize(("family", "true"), [(Toeplitz, True), (Forgetful, False)])
def test_a_wrong_declared_second_moment_is_detected(family, true):
    matrix = family()
    rows = drawn_rows(matrix, Streams(range(REPLICAS)))
    assert (off(moments(rows), declared(matrix.second_moment, D)) <= ERRORS) == true


def test_a_subclass_with_its_own_rows_inherits_no_declared_moments():
    class Correlated(Gaussian, frozen=True, tag="correlated"):
        """Rows with a preferred direction."""

        def rows(self, streams):
            return super().rows(streams) + streams("shared").normal(self.size()[0], 1)

    class Wide(Gaussian, frozen=True, tag="wide"):
        """The same rows with other defaults."""

        d: int = 4

    assert (Correlated().structure().isotropic, Correlated().second_moment) == (False, None)
    assert (Wide().structure().isotropic, Wide().second_moment) == (True, 1.0)
    assert (MatrixStructure().isotropic, Matrix.second_moment.fget(None)) == (False, None)
