"""The search: hypothesis draws experiments until one shows an error, and shrinks it to a minimal preset."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from engine.theory import Line
from tests.fuzz.checks import Finding, Tally, check
from tests.fuzz.draws import experiments, key_of
from tests.fuzz.presets import Raw

BATCH = 100
"""Most experiments of one search; the next search has the next seed."""

ALIKE = 3
"""Most findings of one name that are reported."""

SHRINKS = 120
"""Most experiments that are tried to shrink a finding."""


class Shown(Exception):
    """An experiment shows the error that the search looks for."""


class Shrunk(BaseException):
    """SHRINKS is used up: the shortest experiment so far counts as minimal."""


class Over(BaseException):
    """The time or the number of experiments is used up. No error: hypothesis must not shrink it."""


@dataclass
class Report:
    """A finding with its minimal preset."""

    finding: Finding
    raw: Raw
    path: Path

    @property
    def line(self) -> str:
        return f"{self.finding.what} {self.finding.name}: {self.finding.detail}: {self.path}"


@dataclass
class Campaign:
    """Searches in sequence. Each ends with a finding or after BATCH experiments."""

    folder: Path
    number: int = 0
    seconds: float = float("inf")
    count: float = float("inf")
    about: Sequence[Line] = ()
    notify: Callable[[str], None] = lambda text: None
    tally: Tally = field(default_factory=Tally)
    reports: list[Report] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Search until the time or the count is used up. Raises: KeyboardInterrupt, once it is noted down."""
        try:
            while True:
                self.search()
        except Over:
            pass

    def search(self) -> None:
        """Draw experiments until one shows a new error; shrink it, and write it down even if interrupted.

        Raises: Over, KeyboardInterrupt.
        """
        search = _Search(self)
        number, self.number = self.number, self.number + 1
        strategy = experiments(tuple(self.about))

        @seed(number)
        @settings(
            max_examples=BATCH,
            database=None,
            deadline=None,
            print_blob=False,
            verbosity=Verbosity.quiet,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )
        @given(strategy)
        def draw(raw: Raw) -> None:
            search.look(raw)

        try:
            draw()
        except (Shown, Shrunk):
            pass
        finally:
            if search.least is not None:
                self._write(search.least)
        self.notify(self.progress)

    def check_budget(self) -> None:
        """Raises: Over."""
        if time.monotonic() - self.begun > self.seconds or self.tally.counts["drawn"] >= self.count:
            raise Over

    def is_new(self, finding: Finding) -> bool:
        """Whether fewer findings of this name than ALIKE are reported."""
        names = Counter(report.finding.key for report in self.reports)
        return names[finding.key] < (1 if finding.what == "crash" else ALIKE)

    @property
    def progress(self) -> str:
        counts = self.tally.counts
        shares = f"{counts['drawn']} drawn, {counts['accepted']} accepted, {counts['run']} run"
        return f"search {self.number}: {shares}, {len(self.reports)} findings"

    def _write(self, shown: tuple[Finding, Raw]) -> None:
        """Add a finding and write its preset, unless the same preset was written before."""
        finding, raw = shown
        if any(key_of(report.raw) == key_of(raw) for report in self.reports):
            return
        preset: dict[str, Any] = {
            "title": f"{finding.what} {finding.name}",
            "story": f"{finding.what} {finding.name}: {finding.detail}",
            **raw,
            "run": {**raw["run"], **finding.run},
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        words = "".join(
            letter if letter.isalnum() else "-" for letter in f"{finding.what}-{finding.name}"
        ).strip("-")
        path = self.folder / f"{words}-{sum(words in report.path.name for report in self.reports) + 1}.toml"
        path.write_text(tomli_w.dumps(preset))
        self.reports.append(Report(finding, raw, path))
        self.notify(self.reports[-1].line)


class _Search:
    """One search: the error that it has found, if any, and the shortest experiment that shows it."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._key: tuple[str, str] | None = None
        self._left = SHRINKS
        self._seen: dict[str, Finding | None] = {}
        self.least: tuple[Finding, Raw] | None = None

    def look(self, raw: Raw) -> None:
        """Check an experiment.

        Raises:
            Shown: the experiment has a new error, or the error that is being shrunk.
            Shrunk: SHRINKS is used up.
            Over: the time or the count is used up.
        """
        text = key_of(raw)
        if text not in self._seen:
            self._seen[text] = self._checked(raw)
        finding = self._seen[text]
        if finding is None:
            return
        if self.least is None or len(text) < len(key_of(self.least[1])):
            self.least = finding, raw
        raise Shown

    def _checked(self, raw: Raw) -> Finding | None:
        if self._key is None:
            self._campaign.check_budget()
        elif self._left == 0:
            raise Shrunk
        else:
            self._left -= 1
        findings, tally = check(raw) if self._key is None else check(raw, self._key[0])
        if self._key is None:
            self._campaign.tally.add(tally)
        for finding in findings:
            if finding.key == self._key or (self._key is None and self._campaign.is_new(finding)):
                if self._key is None:
                    self._campaign.notify(f"shrinking {finding.what} {finding.name}: {finding.detail}")
                self._key = finding.key
                return finding
        return None
