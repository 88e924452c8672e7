"""Three minutes of random experiments contradict no theory line, verdict or backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.search import Campaign

pytestmark = [pytest.mark.slow, pytest.mark.lasts(180)]

FIRST, COUNT = 1_000_000, 1000
"""The first search of `make fuzz SEED=1`, and the experiments of about three minutes.

They are the same on every host and for every commit, so a finding comes from the change that is tested.
`make fuzz` with other seeds looks further.
"""


def test_three_minutes_of_random_experiments_find_no_error(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, number=FIRST, count=COUNT)
    campaign.run()
    assert [report.line for report in campaign.reports] == []
    counts = campaign.tally.counts
    assert counts["accepted"] > counts["drawn"] / 3
    assert counts["verdicts"] > counts["drawn"] / 6
    assert counts["backends"] > 0
    assert counts["stopped"] < counts["drawn"] / 20
