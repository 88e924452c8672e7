"""Three minutes of random experiments contradict no theory line, verdict or backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.search import Campaign
from tests.slow.commits import commit_number

pytestmark = pytest.mark.slow

SECONDS = 180.0


def test_three_minutes_of_random_experiments_find_no_error(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, number=commit_number() * 1_000_000, seconds=SECONDS)
    campaign.run()
    assert [report.line for report in campaign.reports] == []
    counts = campaign.tally.counts
    assert counts["accepted"] > counts["drawn"] / 3
    assert counts["verdicts"] > counts["drawn"] / 6
    assert counts["backends"] > 0
    assert counts["stopped"] < counts["drawn"] / 20
