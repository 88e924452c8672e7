"""At which of its records a training run keeps the weights of its first replica and target."""

from __future__ import annotations

from dataclasses import dataclass

MOST_WEIGHT_RECORDS = 1024
MOST_WEIGHT_BYTES = 32 << 20


@dataclass(frozen=True)
class KeptRecords:
    """Every so many-th record, and the last."""

    stride: int
    last: int

    def __contains__(self, record: int) -> bool:
        return record % self.stride == 0 or record == self.last

    def __len__(self) -> int:
        return -(-self.last // self.stride) + 1


def kept_records(records: int, d: int, itemsize: int) -> KeptRecords:
    """At which of a curve's records its weights [d] are kept, so that a run keeps a bounded number."""
    most = max(2, min(MOST_WEIGHT_RECORDS, MOST_WEIGHT_BYTES // (d * itemsize)))
    return KeptRecords(max(1, -(-(records - 1) // (most - 1))), records - 1)
