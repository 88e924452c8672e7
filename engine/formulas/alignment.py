"""Alignment of a function under permutations and sign flips on the cube, or rotations on a sphere.

Let f be a function with E f² = 1, and let G be a group with elements g. The images of f under the group are
the functions f_g(x) = f(gx). The alignment C(f, G) is the largest mean squared correlation of a single
function h with these images: C(f, G) = sup_{E h² = 1} E_g(E_x f_g(x) h(x))². It is the largest eigenvalue of
the operator E_g f_g ⊗ f_g. Source: Abbe, Boix-Adserà 2022; theory/symmetry#alignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


NODES = 200
"""Number of quadrature nodes from 0 to 1. The quadrature is exact for polynomials of degree below 2 ·
NODES.
"""

MOST_IMAGES = 1 << 11
"""Largest number of images of a target that are enumerated. The matrix of their inner products has as many
rows and columns.
"""


def coefficients(rows: Floats, labels: Floats) -> Floats:
    """Return the Fourier coefficients f̂(S) = E f(x) ∏_{i ∈ S} x_i of the labels f, for all S, [2ⁿ].

    `rows` [2ⁿ, n] are the points of the cube, and `labels` [2ⁿ] are the values of f at these points. The
    labels are first scaled so that E f² = 1. The index of f̂(S) in the result has the bit i if i ∈ S. The
    fast Walsh–Hadamard transform computes all coefficients.
    """
    bits = rows.shape[1]
    transformed = _sorted_labels(rows, labels) / math.sqrt(np.square(labels).mean())
    for bit in range(bits):
        pairs = transformed.reshape(-1, 2, 1 << bit)
        transformed = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1) / 2
    return transformed.ravel()


def _sorted_labels(rows: Floats, labels: Floats) -> Floats:
    """Sort the labels [2ⁿ] of rows x by an index whose bit i is 1 if x_i = −1."""
    places = (rows < 0).astype(np.int64) @ (1 << np.arange(rows.shape[1]))
    ordered = np.empty(len(labels))
    ordered[places] = labels
    return ordered


def weights_by_degree(rows: Floats, labels: Floats) -> Floats:
    """Return the Fourier weights W_k = Σ_{|S| = k} f̂(S)² of the labels f, for k = 0 … n.

    The labels are scaled to E f² = 1.
    """
    degrees = np.bitwise_count(np.arange(len(labels)))
    squares = np.square(coefficients(rows, labels))
    return np.asarray(np.bincount(degrees, squares, rows.shape[1] + 1), np.float64)


def sign_flips(rows: Floats, labels: Floats) -> float:
    """Return the alignment of a function f under the group G of sign flips of n bits: C(f, G) = max_S f̂(S)².

    The docstring of the module defines C, and `coefficients` defines f̂(S) for sets S of bits. The formula
    holds because each parity spans a space that is invariant under sign flips. `rows` [2ⁿ, n] are the points
    of the cube, and `labels` [2ⁿ] are the values of f.
    """
    return float(np.square(coefficients(rows, labels)).max())


def permutations(rows: Floats, labels: Floats) -> float:
    """Return the alignment C(f, G) of a function f under the group G of permutations of n bits.

    Let f_1 … f_m be the different images f(gx), scaled so that E f_i² = 1. The alignment is 1/m times the
    largest eigenvalue of the matrix with the entries E f_i f_j. If there are more than MOST_IMAGES images,
    the result is NaN. `rows` [2ⁿ, n] are the points of the cube, and `labels` [2ⁿ] are the values of f.
    """
    bits = rows.shape[1]
    first = _sorted_labels(rows, labels) / math.sqrt(np.square(labels).mean())
    numbers = np.arange(len(first))
    neighbours = [_swapped_bits(numbers, bit) for bit in range(bits - 1)]
    images, waiting = {first.tobytes(): first}, [first]
    while waiting:
        image = waiting.pop()
        for other in (image[places] for places in neighbours):
            if (key := other.tobytes()) not in images:
                images[key] = other
                waiting.append(other)
        if len(images) > MOST_IMAGES:
            return math.nan
    stacked = np.stack(list(images.values()))
    return float(np.linalg.eigvalsh(stacked @ stacked.T / stacked.size)[-1])


def _swapped_bits(numbers: NDArray[np.int64], bit: int) -> NDArray[np.int64]:
    """Swap bit number `bit` with the next higher bit in each of the indices `numbers`."""
    differ = (numbers >> bit ^ numbers >> bit + 1) & 1
    return numbers ^ (differ << bit | differ << bit + 1)


def signed_permutations(rows: Floats, labels: Floats) -> float:
    """Return the alignment of a function under all permutations and sign flips of its n bits.

    The alignment is max_k W_k/(n choose k) for the Fourier weights W_k of the labels. Proof: the parities of
    k bits span a space of dimension n choose k. These spaces are irreducible and inequivalent under the
    group, and their sum is the space of all functions on the cube.
    """
    weights = weights_by_degree(rows, labels)
    bits = len(weights) - 1
    return max(float(weight) / math.comb(bits, degree) for degree, weight in enumerate(weights))


def rotations(profile: Callable[[Floats], Floats], d: int) -> float:
    """Return the alignment C(f, O(d)) of f(x) = φ(t), t = w·x/(‖w‖‖x‖), for x uniform on a sphere, d ≥ 3.

    C is max_k W_k/dim H_k. H_k is the space of spherical harmonics of degree k, and W_k is the squared norm
    of the projection of f onto H_k. The H_k are inequivalent and irreducible under O(d). For E φ² = 1,
    W_k/dim H_k is (E φ(t) P_k(t))² with the Gegenbauer polynomials P_k, P_k(1) = 1. `profile` is φ, which
    must be smooth except at t = 0.
    """
    from scipy.special import roots_jacobi  # type: ignore[import-untyped]

    nodes, weights = roots_jacobi(NODES, (d - 3) / 2, 0)
    # Each half has its own quadrature: φ may jump at 0, and one quadrature over [−1, 1] would be inexact.
    half = (1 + nodes) / 2  # t ≥ 0, of density (1 − t²)^((d − 3)/2) = (1 − t)^… (1 + t)^…
    t = np.concatenate((half, -half))
    shares = np.tile(weights * (1 + half) ** ((d - 3) / 2), 2)
    values = profile(t) * shares / shares.sum()
    values /= math.sqrt(float(values @ profile(t)))
    before, now, largest = np.zeros_like(t), np.ones_like(t), 0.0
    for degree in range(NODES):
        if 1 / _count_of_harmonics(d, degree) <= largest:  # W_k ≤ 1
            break
        largest = max(largest, float(values @ now) ** 2)
        before, now = now, ((2 * degree + d - 2) * t * now - degree * before) / (degree + d - 2)
    return largest


def _count_of_harmonics(d: int, degree: int) -> int:
    """Return dim H_k, the number of spherical harmonics of degree k in d dimensions."""
    return math.comb(d + degree - 1, degree) - (math.comb(d + degree - 3, degree - 2) if degree > 1 else 0)
