"""Summary of a search: counts of experiments, of learners per line, and of findings."""

from __future__ import annotations

from collections import Counter

from tests.fuzz.presets import SIDES, lines
from tests.fuzz.search import Campaign


def summary(campaign: Campaign) -> str:
    """Tables in Markdown."""
    tally = campaign.tally
    counts_by_subject = Counter(report.finding.what for report in campaign.reports)
    rows = [(name, str(count)) for name, count in tally.counts.items()]
    rows += [
        (f"findings about a {subject}", str(count)) for subject, count in sorted(counts_by_subject.items())
    ]
    rows += [("findings", str(len(campaign.reports)))]
    tried = [
        (line.kind, line.structure().direction, str(tally.tried[line.kind]))
        for line in lines()
        if line.structure().direction in SIDES and (not campaign.about or line in campaign.about)
    ]
    return "\n\n".join(
        (
            _markdown(("experiments", "number"), rows),
            _markdown(("line", "direction", "learners tried"), tried),
        )
    )


def _markdown(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    body = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in body)
