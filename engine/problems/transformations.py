"""Random elements of groups of transformations of the instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.core.groups import Group
from engine.core.linear_algebra import one_thread
from engine.core.streams import Stream

Matrix = NDArray[np.float64]


def element(group: Group, stream: Stream, d: int, determinant: int = 1) -> Matrix:
    """A random g of a group, x → g x, orthogonal [d, d], that leaves no coordinate where it can move it.

    Rotations are Haar-random, of every factor by itself, the first with this determinant; permutations are
    random cycles through all coordinates, and half of the signs are flipped. A few draws generate the group,
    or for rotations come as near to every element as one likes.
    """
    if group.factors is not None:
        sizes = group.factors or (d,)
        first, *rest = (haar(stream.normal(size, size)[0]) for size in sizes)
        if np.sign(np.linalg.det(first)) != determinant:
            first[:, 0] *= -1
        product: Matrix = first
        for other in rest:
            product = np.asarray(np.kron(product, other), np.float64)
        return product
    moved = np.eye(d)
    if group.permutations:
        order = stream.permutation(d)[0]
        moved = np.zeros((d, d))
        moved[np.roll(order, 1), order] = 1.0
    if group.signs:
        moved = moved * np.where(stream.permutation(d)[0] % 2, 1.0, -1.0)
    return moved


def haar(gaussian: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Haar-random orthogonal matrix [d, d] made from a matrix of independent N(0, 1) numbers.

    The Q of its QR decomposition, columns signed so that R has a positive diagonal. Source: Mezzadri 2007.
    """
    with one_thread(len(gaussian)):
        q, r = np.linalg.qr(gaussian)
    rotation: NDArray[np.float64] = q * np.sign(np.diag(r))
    return rotation
