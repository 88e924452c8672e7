"""What trains once more beside a run that has finished, for panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hadamard_tui.running.certificate_worker import CertificateWorker
    from hadamard_tui.running.snapshot_worker import SnapshotWorker


class Beside(msgspec.Struct, frozen=True, eq=False):
    """The workers of one run; None for what was not requested.

    Args:
        measuring: the certificates of the learners.
        looking: snapshots of the learners.
    """

    measuring: CertificateWorker | None = None
    looking: SnapshotWorker | None = None
