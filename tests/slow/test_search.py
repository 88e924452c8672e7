"""Three minutes of random experiments contradict no theory line, verdict or backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.search import Campaign

pytestmark = [pytest.mark.slow, pytest.mark.lasts(180)]

FIRST, COUNT, SECONDS = 1_000_000, 1000, 180
"""The first search of `make fuzz SEED=1`, and the most experiments and seconds.

The experiments are the same for every commit, so a finding comes from the change that is tested. A slow host
stops before the last of them. `make fuzz` with other seeds looks further.
"""


def test_three_minutes_of_random_experiments_find_no_error(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, number=FIRST, count=COUNT, seconds=SECONDS)
    campaign.run()
    assert [report.line for report in campaign.reports] == []
    counts = campaign.tally.counts
    assert counts["accepted"] > counts["drawn"] / 3
    assert counts["verdicts"] > counts["drawn"] / 6
    assert counts["backends"] > 0
    assert counts["stopped"] < counts["drawn"] / 20
