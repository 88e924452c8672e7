"""The search finds planted errors, shrinks them, and reports nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from engine.core import catalogue
from engine.core.groups import ROTATIONS
from engine.core.parts import Verdict
from engine.spec import reading
from engine.symmetry import certificate
from engine.theory import At, Floats, Line, LineStructure
from engine.theory.ri_gaussian import RIGaussian
from tests.fuzz import checks
from tests.fuzz.checks import check
from tests.fuzz.draws import key_of
from tests.fuzz.presets import bases_of, bound, corpus, lines, raw_of
from tests.fuzz.search import Campaign

PLANTED = 500
"""Experiments among which a planted error is found."""

QUICK_SEARCH = 5
"""Number of a search that finds the planted error with a learner that trains in milliseconds.

Search 0 finds it with Muon, and confirming it takes 30 times as long.
"""

SEED = 7_000_000

OF_ONE_LINE = 30
"""Experiments in which an experimental line is tried."""

SMALL: dict[str, Any] = {
    "problem": {"matrix": {"kind": "gaussian", "d": 8}, "target": {"kind": "feature"}},
    "protocol": {"kind": "one-pass"},
    "run": {"dtype": "float64", "device": "cpu"},
    "learners": [{"name": "it", "architecture": {"kind": "linear"}, "update": {"kind": "gd", "lr": 0.05}}],
}


def with_learner(**words: Any) -> dict[str, Any]:
    return {**SMALL, "learners": [{"name": "it", **words}]}


class Planted(RIGaussian, frozen=True, tag="planted"):
    """1.3 times the bound on Gaussian rows."""

    holds = RIGaussian.holds
    binds = RIGaussian.binds
    binds_by_verdict = RIGaussian.binds_by_verdict

    def structure(self) -> LineStructure:
        return LineStructure(direction="lower", group=ROTATIONS)

    def value(self, at: At) -> Floats:
        return 1.3 * super().value(at)


@pytest.mark.slow
@pytest.mark.lasts(30)
def test_the_search_finds_and_shrinks_a_bound_too_high_by_three_tenths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalogue.members("theory"), "planted", Planted)
    campaign = Campaign(tmp_path, number=QUICK_SEARCH, count=PLANTED, about=[Planted()])
    while not campaign.reports:
        campaign.search()
    (report,) = campaign.reports
    assert report.finding.key == ("line", "planted (lower)")
    shown = reading.parse(tomllib.loads(report.path.read_text()))
    assert shown.run.replicas == checks.FRESH
    assert len(key_of(report.raw)) < 2 * len(key_of(SMALL)), "it is about as short as an experiment can be"
    assert report.line.endswith(str(report.path))
    monkeypatch.delitem(catalogue.members("theory"), "planted")
    assert check(report.raw)[0] == []


if experimental := [line for line in lines() if line.experimental]:

    @pytest.mark.parametrize("line", experimental, ids=lambda line: line.kind)
    def test_bound_learners_respect_experimental_lines(line: Line, tmp_path: Path) -> None:
        campaign = Campaign(tmp_path, number=SEED, count=OF_ONE_LINE, about=[line])
        if any(bound(line, number) for number in range(len(bases_of(line)))):
            campaign.run()
        assert [report.line for report in campaign.reports] == []


@pytest.mark.parametrize("name", corpus())
@pytest.mark.slow
def test_presets_of_fixed_errors_show_no_error(name: str) -> None:
    experiment = corpus()[name]
    for learner in experiment.learners:
        alone = msgspec.structs.replace(experiment, learners=(learner,))
        raw = {part: raw_of(getattr(alone, part)) for part in ("problem", "protocol")}
        measures = [raw_of(measure) for measure in experiment.run.measures]
        run = {"dtype": "float64", "device": "cpu", "measures": measures}
        findings, tally = check({**raw, "run": run, "learners": [raw_of(learner)]})
        assert findings == []
        assert tally.counts["run"] == 1


@pytest.mark.slow
def test_every_line_has_a_bound_learner_to_start_from() -> None:
    asked = [line for line in lines() if not line.experimental]
    unbound = [
        line.kind for line in asked if not any(bound(line, number) for number in range(len(bases_of(line))))
    ]
    assert len(asked) > 20
    assert unbound == []


def test_a_correct_learner_causes_no_finding() -> None:
    findings, tally = check(SMALL)
    assert findings == []
    assert tally.counts["verdicts"] == 1
    assert tally.counts["backends"] >= 1
    assert tally.tried["ri-gaussian"] == 1


def test_an_invalid_experiment_is_refused_without_a_finding() -> None:
    findings, tally = check({**SMALL, "protocol": {"kind": "one-pass", "loss": "hinge"}})
    assert findings == []
    assert tally.counts["refused"] == 1


def test_a_wrong_invariance_verdict_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.updates.egu import EGU

    egu = with_learner(architecture={"kind": "linear"}, update={"kind": "egu", "lr": 0.2})
    assert check(egu)[0] == []
    promised = Verdict(True, "it is said to be invariant here, and is not")
    monkeypatch.setattr(EGU, "invariance", lambda *asked: promised)
    assert ("verdict", "egu linear") in [finding.key for finding in check(egu)[0]]


def test_a_backend_that_differs_from_dense_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    run = checks._run

    def other(experiment: Any) -> Any:
        if experiment.run.path not in ("auto", "dense"):
            learner = experiment.learners[0]
            update = msgspec.structs.replace(learner.update, lr=learner.update.lr * (1 + 1e-7))
            learner = msgspec.structs.replace(learner, update=update)
            experiment = msgspec.structs.replace(experiment, learners=(learner,))
        return run(experiment)

    monkeypatch.setattr(checks, "_run", other)
    assert "backend" in [finding.what for finding in check(SMALL)[0]]


def test_rounding_magnified_by_a_rule_is_no_difference_of_backends() -> None:
    """Steps of online Newton at this rate overshoot, and its matrices are float64 in every run."""
    unstable = {
        **with_learner(architecture={"kind": "linear"}, update={"kind": "online-newton", "lr": 2.0}),
        "problem": {
            "matrix": {"kind": "ordered-hadamard", "d": 8},
            "target": {"kind": "doubled"},
            "noise": 0.5,
        },
        "protocol": {"kind": "erm", "steps": 16},
    }
    findings, tally = check(unstable)
    assert findings == []
    assert tally.counts["backends that rounding decides"]


def test_a_crash_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*asked: Any) -> Any:
        raise ZeroDivisionError("there is nothing to divide by")

    monkeypatch.setattr(certificate, "element", crash)
    (finding,) = check(SMALL)[0]
    assert finding.what == "crash"
    assert finding.name.startswith("ZeroDivisionError")


def test_a_line_violated_by_chance_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "allowed_errors", lambda replicas: -np.inf)
    assert check(SMALL)[0] == []


@pytest.mark.slow
def test_a_search_ends_after_the_requested_count(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, count=5)
    campaign.run()
    assert campaign.tally.counts["drawn"] == 5
