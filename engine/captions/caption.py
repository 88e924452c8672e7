"""The caption of a picture: its clauses on curves and lines of theory, in one or two sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from engine.captions.arrivals import Arrivals
from engine.captions.clause import MARK, Clause, Named
from engine.captions.comparisons import coinciding, compared, comparisons, pairs
from engine.captions.followed import followed, without_line
from engine.captions.room import PLENTY, Room
from engine.captions.shapes import FEW, Shapes
from engine.captions.standing import Standing
from engine.captions.wording import grouped, listed, plural
from engine.claims import Outcome
from engine.core.notation import number
from engine.core.texts import cut
from engine.pictures.view import HeatView, View
from engine.pictures.view_names import short_name, x_name, y_name

LONGEST_CLAIM = 80


def caption(
    view: View,
    outcomes: Sequence[Outcome] = (),
    others: Sequence[Outcome] = (),
    letters: Mapping[str, str] | None = None,
    room: Room = PLENTY,
) -> str:
    """One or two sentences on a picture as far as it has come; nothing while it is empty.

    The first says who comes down to a tenth of the start and when, and who does not, or laws and ranges, or
    how the same learners end at two values of an axis; who coincides, who diverged, and who is not drawn; the
    second how curves stand to bounds, those that these bind and others, how close they are to exact lines and
    to limits, what is only conjectured, and how many of the claims hold. Where there is little room the less
    telling clauses are said in brief, then not at all, and the first by letters or of fewer curves. Where
    curves have letters, each is called by its name once and by its letter from there on.

    Args:
        outcomes: those of the claims about this picture, once they are judged.
        others: the outcomes of the claims about other pictures.
        letters: what stands before the name of a curve, by its name, as in "B (EGU)".
        room: that there is for it.
    """
    letters = letters or {}
    every = [*clauses(view, letters), *_claims(outcomes, others)]
    called = [(letters[one.name], short_name(view, one)) for one in view.curves if one.name in letters]
    names = {f"{letter} ({name})": letter for letter, name in called}
    text = ""
    for chosen in _shorter(every):
        text = named_once(_sentences(chosen), names)
        if room.holds(text):
            return text
    return room.cut(text)


def _shorter(clauses: Sequence[Clause]) -> Iterator[list[Clause]]:
    """The clauses at length, then ever more of them in brief from the last on, then ever fewer of these, and
    in the end the first in its briefest form."""
    brief = [clause.in_brief for clause in clauses]
    for count in range(len(clauses), -1, -1):
        yield [*clauses[:count], *brief[count:]]
    for count in range(len(clauses) - 1, 0, -1):
        yield brief[:count]
    for form in clauses[0].briefer if clauses else ():
        yield [brief[0]._replace(long=form, named=True)]


def _sentences(clauses: Sequence[Clause]) -> str:
    """Clauses as sentences: those on what is seen, then those on what is said of it."""
    parts = ([one for one in clauses if one.of_theory == of_theory] for of_theory in (False, True))
    return " ".join(_sentence(part) for part in parts if part)


def named_once(text: str, letters: Mapping[str, str]) -> str:
    """The text with a curve called by its name once, and by its letter from there on; all of them by their
    names alone where none is called with its letter.

    Args:
        letters: those of curves by name with letter, as in "B (EGU)": "B".
    """
    if any(name in text for name in letters):
        for name, letter in letters.items():
            text = text.replace(f"{MARK}{name.removeprefix(f'{letter} (').removesuffix(')')}{MARK}", name)
            before, found, after = text.partition(name)
            text = before + found + after.replace(name, letter)
    return text.replace(MARK, "")


def _sentence(clauses: Sequence[Clause]) -> str:
    text = "; ".join(clause.long for clause in clauses)
    return f"{text}." if clauses[0].named else f"{text[0].upper()}{text[1:]}."


def _claims(own: Sequence[Outcome], others: Sequence[Outcome]) -> Iterator[Clause]:
    """How many claims hold, how many are about this picture, the first that fails, and how many are not
    judged."""
    reasons = [one.detail for one in (*own, *others) if one.holds is None]
    own, others = ([one for one in outcomes if one.holds is not None] for outcomes in (own, others))
    judged = [*own, *others]
    failed, count = [outcome for outcome in judged if not outcome.holds], len(judged)
    if failed:
        text = f"{len(failed)} of {count} claims {'fails' if len(failed) == 1 else 'fail'}"
        quoted = f"“{cut(failed[0].claim.text, LONGEST_CLAIM)}”"
        yield Clause(f"{text}: {quoted}", text, of_theory=True)
    elif count:
        text = "its claim holds" if count == 1 else f"{'both' if count == 2 else f'all {count}'} claims hold"
        where = f", {len(own) or 'none'} of them about this chart" if others else ""
        yield Clause(f"{text}{where}", text, of_theory=True, named=False, brief_named=False)
    if reasons:
        text = f"{len(reasons)} {'claim is' if len(reasons) == 1 else 'claims are'} not judged"
        yield Clause(f"{text}: {reasons[0]}", text, of_theory=True)


def clauses(view: View, letters: Mapping[str, str]) -> Iterator[Clause]:
    """The clauses on a view, the most telling first."""
    if view.heats:
        yield from (_range_of_heat(view, heat) for heat in view.heats)
        return
    names = Named(view, letters)
    arrivals, close = Arrivals(names), list(followed(names))
    standing = Standing(names, arrivals.height)
    seen = list(arrivals)
    bounds_first = standing.binds_all if seen else len(names.learners) > FEW
    if (found := pairs(names)) and not arrivals.all_come:
        seen = list(compared(names, found))
    elif not seen and (
        (others := without_line(names)) or (not names.along_clock and len(names.learners) == 1)
    ):
        shapes = Shapes(names.about(others or names.learners))
        yield from shapes.laws()
        seen = list(shapes.ranges())
    if not found:
        seen += coinciding(names)
    yield from [*standing, *seen] if bounds_first else [*seen, *standing]
    yield from _diverged(names)
    yield from _without_value(names)
    yield from _unmeasured(names)
    yield from close
    yield from comparisons(names)


def _range_of_heat(view: View, heat: HeatView) -> Clause:
    """The least and the greatest value of a heat map, and where they are."""
    if not np.isfinite(heat.z).any():
        said = f"{heat.learner} has no values yet"
        return Clause(said, said)
    z = np.where(np.isfinite(heat.z), heat.z, np.nan)
    least, greatest = (_cell(view, heat, int(one(z))) for one in (np.nanargmin, np.nanargmax))
    ends = f"{number(float(np.nanmin(z)))} and {number(float(np.nanmax(z)))}"
    text, brief = f"{heat.learner} is between {least} and {greatest}", f"{heat.learner} is between {ends}"
    if heat is view.heats[0]:
        return Clause(f"{view.axes.y_label}: {text}", brief, named=False)
    return Clause(text, brief)


def _cell(view: View, heat: HeatView, which: int) -> str:
    """The value of a cell of a heat map, and where it is."""
    row, column = np.unravel_index(which, heat.z.shape)
    across = f"{x_name(view)} = {number(float(heat.x[column]))}"
    up = f"{y_name(view)} = {number(float(heat.y[row]))}"
    return f"{number(float(heat.z[row, column]))} ({across}, {up})"


def _diverged(names: Named) -> Iterator[Clause]:
    """Who has diverged or lost accuracy, in how many replicas, and where the first of them."""
    gone = [curve for curve in names.view.curves if curve.ends.diverged and curve.chosen]
    if gone:
        said = []
        for curve in gone:
            those = f" in {curve.ends.diverged} of {curve.replicas} replicas" if curve.replicas > 1 else ""
            at = "" if curve.ends.diverged_at is None else f" at {names.at(curve.ends.diverged_at)}"
            said.append(f"{names.name(curve)} {curve.ends.fate}{those}{at}")
        fates = grouped((curve.ends.fate, names.brief(curve)) for curve in gone)
        yield Clause(listed(said), listed([f"{listed(those)} {fate}" for fate, those in fates.items()]))


def _without_value(names: Named) -> Iterator[Clause]:
    """Where along axes curves have ended and have no value of any replica."""
    if names.along_clock or names.view.picture.reading is not None:
        return
    for curve in (one for one in names.learners if one.ends.ended):
        gone = [float(x) for x in curve.x[curve.ends.lost == curve.replicas]]
        if gone:
            said = f"has no value at {x_name(names.view)} = {listed(list(map(names.place, gone)))}"
            yield Clause(f"{names.name(curve)} {said}", f"{names.brief(curve)} {said}")


def _unmeasured(names: Named) -> Iterator[Clause]:
    """Who is not drawn beside others since the measure is not taken of them, and where it would be."""
    if not names.learners:
        return
    for where, those in grouped((why, who) for who, why in names.view.absences.learners.items()).items():
        quoted = [f"“{name}”" if "," in name else name for name in those]
        brief = f"{listed(quoted)} {plural('is', quoted)} not drawn"
        yield Clause(f"{brief}: this is measured only where {where}", brief)
