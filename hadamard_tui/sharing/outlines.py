"""Lines with fewer points that look the same, for files that are to be small."""

from __future__ import annotations

import numpy as np


def outline(across: np.ndarray, down: np.ndarray, within: float) -> tuple[np.ndarray, np.ndarray]:
    """Those of some points through which a line passes all others `within` so many pixels; all within 0.

    The ends of every stretch without NaN are among them, and a NaN between two stretches.
    Source: Ramer 1972; Douglas, Peucker 1973.
    """
    if not within:
        return across, down
    there = ~(np.isnan(across) | np.isnan(down))
    keep = np.zeros(len(there), dtype=bool)
    starts = np.flatnonzero(there & ~np.concatenate([[False], there[:-1]]))
    ends = np.flatnonzero(there & ~np.concatenate([there[1:], [False]]))
    keep[ends[:-1] + 1] = True
    stretches = list(zip(starts.tolist(), ends.tolist(), strict=True))
    while stretches:
        first, last = stretches.pop()
        keep[[first, last]] = True
        if last - first < 2:
            continue
        far = _distances(across[first : last + 1], down[first : last + 1])
        place = int(far.argmax())
        if far[place] > within:
            stretches += [(first, first + place), (first + place, last)]
    return across[keep], down[keep]


def _distances(across: np.ndarray, down: np.ndarray) -> np.ndarray:
    """How far points are from the straight piece between the first and the last of them."""
    x, y = across - across[0], down - down[0]
    square = x[-1] ** 2 + y[-1] ** 2
    along = np.clip((x * x[-1] + y * y[-1]) / square, 0, 1) if square else np.zeros_like(x)
    distances: np.ndarray = np.hypot(x - along * x[-1], y - along * y[-1])
    return distances
