"""Judges the claims of an experiment by the pictures that they refer to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from engine.claims import Claim, Outcome
from engine.core.parts import BadInput
from engine.pictures.picture import Picture
from engine.pictures.view import View, at_values, line_of
from engine.pictures.wording import short_name
from engine.results.results import Results
from engine.results.trace import Trace
from engine.results.views import view
from engine.spec.experiment import Experiment, picture_of, picture_of_claim


def judge(results: Results) -> list[Outcome]:
    """Return the outcome of every claim in an experiment, which may be a sweep.

    A claim whose index is in `sweep.unjudged` is not judged. The outcome of such a claim contains the reason,
    and the sentence `finding` about the claim's picture.
    """
    experiment, views = results.sweep.experiment, _Views(results)
    outcomes = []
    for number, claim in enumerate(experiment.claims):
        try:
            outcome = _judged_claim(number, claim, views.of(picture_of_claim(experiment, claim)), results)
        except BadInput as error:
            outcome = claim.fails(f"there is no such picture: {error.fault}")
        if why := results.sweep.unjudged.get(number):
            outcome = Outcome(claim, None, None, why, finding=outcome.finding)
        outcomes.append(outcome)
    return outcomes


def about(picture: Picture, experiment: Experiment, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of the claims about a picture, as `is_about` decides."""
    return [outcome for outcome in outcomes if is_about(outcome.claim, picture, experiment)]


def is_about(claim: Claim, picture: Picture, experiment: Experiment) -> bool:
    """Return whether a claim is about a picture and its measure. The picture's title does not matter."""
    named = picture_of(experiment, claim.picture)
    is_same = msgspec.structs.replace(named, title=picture.title) == picture
    return is_same and claim.measure in (None, picture.measure)


class _Views:
    def __init__(self, results: Results) -> None:
        self._results = results
        self._views: dict[bytes, View] = {}

    def of(self, picture: Picture) -> View:
        key = msgspec.json.encode(picture)
        if key not in self._views:
            self._views[key] = view(picture, self._results)
        return self._views[key]


def _judged_claim(number: int, claim: Claim, seen: View, results: Results) -> Outcome:
    """Judge claim number `number` by its picture.

    The claim holds if all curves that it is about satisfy it.
    """
    exact = [curve for curve in seen.curves if curve.name == claim.curve]
    if exact and claim.curve != exact[0].learner:
        return _outcome_of_curve(results.sweep.claims_along(seen.picture, exact[0].apart)[number], seen)
    if seen.picture.y is not None:
        return _outcome_of_maps(claim, seen)
    outcomes: dict[str, Outcome] = {}
    for apart in dict.fromkeys(curve.apart for curve in seen.curves):
        claim_along, along = results.sweep.claims_along(seen.picture, apart)[number], at_values(seen, apart)
        learners = dict.fromkeys(curve.learner for curve in along.curves if not curve.training.is_reference)
        for learner in [claim.curve] if claim.curve is not None else learners:
            try:
                curve = along.curve(learner)
                outcome = _outcome_of_curve(msgspec.structs.replace(claim_along, curve=learner), along)
                outcomes[short_name(seen, curve)] = outcome._replace(claim=claim)
            except KeyError:  # the learner does not run at these sweep points, or has no records yet
                continue
    return _joined_outcome(claim, outcomes)


def _outcome_of_curve(claim: Claim, seen: View) -> Outcome:
    """Judge a claim about one curve.

    If the claim uses a theory line that does not apply to the learner, the `detail` of the outcome states
    this.
    """
    outcome, curve = _outcome_with_finding(claim, seen), claim.of(seen)
    for field in claim.line_fields if outcome.measured is not None else ():
        with suppress(KeyError):  # this field of the claim may name another curve instead of a theory line
            line = line_of(seen, getattr(claim, field), curve.name)
            if not line.binds(curve):
                return outcome._replace(
                    detail=f"{outcome.detail} (the {line.called} does not apply to {curve.learner})"
                )
    return outcome


def _outcome_with_finding(claim: Claim, seen: View) -> Outcome:
    outcome = claim.judge(seen)
    return outcome if outcome.measured is None else outcome._replace(finding=claim.finding(seen, outcome))


def _outcome_of_maps(claim: Claim, seen: View) -> Outcome:
    named = [heat.learner for heat in seen.heats if claim.curve in (None, heat.learner)]
    judged = {
        learner: _outcome_with_finding(msgspec.structs.replace(claim, curve=learner), seen)
        for learner in named
    }
    return _joined_outcome(claim, {curve: outcome._replace(claim=claim) for curve, outcome in judged.items()})


def _joined_outcome(claim: Claim, outcomes: dict[str, Outcome]) -> Outcome:
    if not outcomes:
        return claim.fails("the curve has no evaluation points")
    name, worst = next(
        ((curve, outcome) for curve, outcome in outcomes.items() if not outcome.holds),
        next(iter(outcomes.items())),
    )
    return worst if len(outcomes) == 1 else worst._replace(detail=f"{name}: {worst.detail}")


def expected_to_diverge(experiment: Experiment) -> set[str]:
    """Return the names of the learners that diverge according to a claim."""
    names = (learner.name for learner in experiment.learners)
    claimed = [claim.curve for claim in experiment.claims if claim.kind == "diverges"]
    return {learner_name for learner_name in names if learner_name in claimed or None in claimed}


def unexpected_divergence(experiment: Experiment, trace: Trace) -> list[str]:
    """Return the names of the learners that diverged, although no claim expects it."""
    expected = expected_to_diverge(experiment)
    return [
        curve.learner
        for curve in trace.curves
        if curve.diverged_at is not None and curve.best and curve.learner not in expected
    ]
