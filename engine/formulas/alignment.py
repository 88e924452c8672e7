"""How aligned a function on the cube is under permutations and sign flips of its bits.

C(f, G) = sup_{E h² = 1} E_g(E_x f(gx) h(x))², the largest eigenvalue of E_g f_g ⊗ f_g: how well a single h
does on average over the images of f. Source: Abbe, Boix-Adserà 2022; theory-symmetry.md §20.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def weights_by_degree(rows: Floats, labels: Floats) -> Floats:
    """W_k = Σ_{|S| = k} f̂(S)², k = 0 … n, of f = labels [2ⁿ] on the rows [2ⁿ, n] of the cube, with E f² = 1.

    Labels are scaled to that. f̂(S) = E f(x) ∏_{i ∈ S} x_i, by the fast transform.
    """
    bits = rows.shape[1]
    places = (rows < 0).astype(np.int64) @ (1 << np.arange(bits))
    coefficients = np.empty(len(labels))
    coefficients[places] = labels / math.sqrt(np.square(labels).mean())
    for bit in range(bits):
        pairs = coefficients.reshape(-1, 2, 1 << bit)
        coefficients = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1) / 2
    degrees = np.bitwise_count(np.arange(len(labels)))
    return np.asarray(np.bincount(degrees, np.square(coefficients.ravel()), bits + 1), np.float64)


def signed_permutations(rows: Floats, labels: Floats) -> float:
    """C under all permutations and sign flips: max_k W_k/(n choose k).

    They split L² of the cube into the functions of degree k, all inequivalent and irreducible.
    """
    weights = weights_by_degree(rows, labels)
    bits = len(weights) - 1
    return max(float(weight) / math.comb(bits, degree) for degree, weight in enumerate(weights))
