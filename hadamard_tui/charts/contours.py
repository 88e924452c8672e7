"""Where the values of a grid cross a level: marching squares, in the coordinates that are seen."""

from __future__ import annotations

from typing import Any

import numpy as np

_PEN_UP = np.full((1, 2), np.nan)


def level_lines(
    x: np.ndarray,
    y: np.ndarray,
    values: np.ndarray,
    level: float,
    x_log: bool = False,
    y_log: bool = False,
) -> np.ndarray:
    """The path [n, 2] along which `values` [Ny, Nx] equal `level`, with rows of NaN between its pieces.

    Interpolated linearly between the points of the grid, on a log axis in log x. Nothing is drawn next to
    what is not finite, nor on a grid of a single row or column. Shape [0, 2] if there is no crossing.
    """
    from contourpy import contour_generator  # here, as most charts have no contours

    if min(values.shape) < 2:
        return np.empty((0, 2))
    across, up = (np.log10(at) if log else at for at, log in ((x, x_log), (y, y_log)))
    squares: Any = contour_generator(across, up, np.ma.masked_invalid(values), name="serial")
    pieces = squares.lines(level)
    if not pieces:
        return np.empty((0, 2))
    path: np.ndarray = np.concatenate([part for piece in pieces for part in (piece, _PEN_UP)][:-1])
    for column, log in enumerate((x_log, y_log)):
        if log:
            path[:, column] = 10.0 ** path[:, column]
    return path
