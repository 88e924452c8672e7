"""At how many of its records a training run keeps the weights of its first replica and target."""

from __future__ import annotations

MOST_WEIGHT_RECORDS = 1024
MOST_WEIGHT_BYTES = 32 << 20


def stride_of_weights(records: int, d: int, itemsize: int) -> int:
    """Of how many of a curve's records one keeps its weights [d], so that a run keeps a bounded number."""
    most = max(2, min(MOST_WEIGHT_RECORDS, MOST_WEIGHT_BYTES // (d * itemsize)))
    return -(-records // most)
