"""How curves stand to the bounds of a view: those that a bound binds, and those that it does not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.captions.clause import MARK, Clause, Named
from engine.captions.ranges import ERRORS, known
from engine.captions.wording import at_most, grouped, listed, percent, plural
from engine.core.groups import ROTATIONS, TRIVIAL
from engine.core.notation import number
from engine.pictures.respect import respect
from engine.pictures.view import ZERO, CurveView, Floats, LineView

ROTATION_INVARIANT = "rotation-invariant learners"
"""What those are called in brief whom a bound on them binds, if their names are longer."""

ALIKE = 1e-9
"""Bounds whose means differ by less, relatively, are equally strong."""

CLOSE = 0.05
"""A curve that is above a bound by no more than this share of it is close to it."""

LONGEST_FORMULA = 40
"""In place of a longer one stands the name of its line."""


class Pair(NamedTuple):
    """A curve beside a bound that binds it."""

    curve: CurveView
    line: LineView


class Beside(NamedTuple):
    """A curve and a line where both have values, [S]."""

    gap: Floats
    """How far the curve is above the line."""

    heights: Floats
    """The line."""

    errors: Floats
    """What the error of the curve may account for."""


class Stands(NamedTuple):
    """How a curve stands to a bound, as predicates with a place for what the bound is called."""

    long: str
    brief: str
    is_beyond: bool = False
    """Whether it is on the wrong side, be it that it may."""

    is_broken: bool = False
    """Whether the theorem says that it may not."""

    is_within_errors: bool = False
    """Whether it is on the wrong side by no more than its errors."""


class Standing:
    """The clauses on the bounds of a view. A curve is set beside the strongest that binds it."""

    def __init__(self, names: Named, low: float | None) -> None:
        """`low`: the height to which curves come down, as other clauses say; None where none does."""
        self._names, self._low = names, low
        self._known: dict[Pair, Stands] = {}
        lines = [line for line in names.view.lines if (line.y > ZERO).any()]
        self._lower = [line for line in lines if line.direction == "lower"]
        self._upper = [line for line in lines if line.direction == "upper"]
        self._limits = [line for line in lines if is_bound_in_limit(line)]
        self._guesses = [line for line in lines if line.direction == "conjecture"]
        self._shapes = [line for line in lines if line.direction == "shape"]

    def __iter__(self) -> Iterator[Clause]:
        for pairs in self._kinds(self._upper):
            yield Clause(*self._in_words(pairs), of_theory=True)
        yield from self._from_below()
        for pairs in self._kinds(self._limits):
            yield Clause(*self._in_words(pairs), of_theory=True)
        yield from self._compared()
        yield from self._conjectured()
        yield from self._of_unknown_height()

    @property
    def binds_all(self) -> bool:
        """Whether lower bounds bind all learners of the view, and none of them is below its own."""
        pairs = [pair for pairs in self._kinds(self._lower) for pair in pairs]
        bound = {pair.curve.name for pair in pairs}
        beyond = any(self._stands(pair).is_beyond for pair in pairs)
        return not beyond and len(bound) == len(self._names.learners) > 0

    def _kinds(self, lines: Sequence[LineView]) -> list[list[Pair]]:
        """The curves that some lines bind, by the kind of line, those of the strongest kind first.

        Each is beside the strongest line that binds it. Where it lies beyond that, as a run may beyond an
        expectation, it is beside the strongest about every run, too, and always beside those that it breaks.
        """
        pairs = []
        for curve in self._names.learners:
            own = [line for line in lines if line.binds(curve) and line.says(curve)]
            if own:
                first = _strongest(own)
                always = [line for line in own if not line.in_expectation]
                beyond = self._stands(Pair(curve, first)).is_beyond
                more = [_strongest(always)] if beyond and always else []
                more += [line for line in own if self._stands(Pair(curve, line)).is_broken]
                pairs += [Pair(curve, line) for line in dict.fromkeys((first, *more))]
        found = grouped((pair.line.kind, pair) for pair in pairs).values()
        return sorted(found, key=lambda some: -_strength(_strongest([pair.line for pair in some])))

    @property
    def _rounding(self) -> float:
        return self._names.view.quantity.rounding

    def _from_below(self) -> Iterator[Clause]:
        """Whom lower bounds hold up, how those here stand to them, and how others to the strongest."""
        kinds = self._kinds(self._lower)
        for place, pairs in enumerate(kinds):
            yield self._lower_bound(pairs)
            if not place:
                yield from self._others(pairs[0].line.kind)
        saying = [line for line in self._lower if any(map(line.says, self._names.learners))]
        if kinds:
            yield from self._crossed({pair.curve.name for pairs in kinds for pair in pairs}, kinds[0][0].line)
        elif saying:
            yield from self._binds_none(_strongest(saying))

    def _binds_none(self, line: LineView) -> Iterator[Clause]:
        """A lower bound where nobody is whom it binds."""
        what, free = self._what([line]), self._free(line.kind)
        all_fall = all(map(self._falls_below, free))
        subject = "all fall" if len(free) > 1 else "it falls"
        falls = f", and {subject} below it" if all_fall else ""
        long = f"{_never_below([line], what)}{self._kept_out([line])}; none here is one of those{falls}"
        brief, is_formula = f"{what} binds none here{falls}", not what.startswith("the ")
        yield Clause(long, brief, of_theory=True, named=False, brief_named=is_formula)
        if not all_fall:
            yield from self._others(line.kind)

    def _lower_bound(self, pairs: Sequence[Pair]) -> Clause:
        """A lower bound of one kind, and how those stand to it that it binds."""
        lines = list(dict.fromkeys(pair.line for pair in pairs))
        line, what = lines[0], self._what(lines)
        stands = [self._stands(pair) for pair in pairs]
        strays = any(one.is_beyond for one in stands)
        below = strays or any(one.is_within_errors for one in stands)
        average = "on average " if line.in_expectation and below else ""
        said = self._predicates(pairs, "it")
        text = f"{average}{_never_below(lines, what)}{self._kept_out(lines)}; {said}"
        those = listed([self._names.brief(pair.curve) for pair in pairs]).replace(MARK, "")
        if _is_of_rotations(lines) and len(those) > len(ROTATION_INVARIANT) and not strays:
            brief = f"{ROTATION_INVARIANT} stay above {self._what(lines, in_brief=True)}"
            return Clause(text, brief, of_theory=True, named=False, brief_named=False)
        return Clause(text, self._in_words(pairs)[1], of_theory=True, named=False)

    def _in_words(self, pairs: Sequence[Pair]) -> tuple[str, str]:
        """How curves stand to the bound of one kind that binds them, at length and in brief."""
        lines = list(dict.fromkeys(pair.line for pair in pairs))
        brief = self._predicates(pairs, self._what(lines, in_brief=True), in_brief=True)
        return self._predicates(pairs, self._what(lines)), brief

    def _predicates(self, pairs: Sequence[Pair], what: str, in_brief: bool = False) -> str:
        """Who stands how to a bound, which is called `what` once and then it."""
        name = self._names.brief if in_brief else self._names.name
        stands = [(self._stands(pair), name(pair.curve)) for pair in pairs]
        sides = grouped((one.brief if in_brief else one.long, who) for one, who in stands)
        said = []
        for place, (how, those) in enumerate(sides.items()):
            subject = listed(those, 1 if len(those) > 2 and in_brief else None)
            said.append(f"{subject} {plural(how, those)}".replace("{}", "it" if place else what))
        return ", ".join(said)

    def _stands(self, pair: Pair) -> Stands:
        """How a curve stands to a bound that binds it."""
        if pair not in self._known:
            self._known[pair] = self._judged(pair)
        return self._known[pair]

    def _judged(self, pair: Pair) -> Stands:
        curve, line = pair
        stays, falls = ("above", "below") if line.direction != "upper" else ("below", "above")
        if is_bound_in_limit(line):
            return self._stands_to_limit(pair)
        found = respect(curve, line, self._rounding)
        if found.exact:
            return Stands("follows {} exactly", "follows {}")
        if not found.beyond:
            close = _close(pair)
            by = "" if close is None else f" by at most {at_most(100 * close)}"
            return Stands(f"stays {stays} {{}}{by}", f"stays {stays} {{}}")
        if found.holds:
            within = f"stays {stays} {{}} within standard errors"
            return Stands(within, f"stays {stays} {{}}", is_within_errors=True)
        at = self._names.at(found.at)
        of_one = curve.replicas == 1 or curve.summary in ("first", "min", "max")
        may = f"as {'a single run' if of_one else 'so few runs'} may be"
        is_broken = found.holds is False
        why = "against the theorem" if is_broken else may
        long = f"is {falls} {{}} by {number(found.beyond, 1)} at {at}, {why}"
        return Stands(long, f"is {falls} {{}}, {why}", True, is_broken)

    def _stands_to_limit(self, pair: Pair) -> Stands:
        """How a curve stands to what bounds it from below in a limit."""
        below = -_beside(pair).gap
        if below.max(initial=0.0) <= self._rounding:
            return Stands("stays above {}", "stays above {}")
        said = f"is below {{}} by at most {number(float(below.max()), 1)}"
        return Stands(said, said)

    def _what(self, lines: Sequence[LineView], in_brief: bool = False) -> str:
        """What a bound of one kind is called: its formula, where all have the same and it is short."""
        if is_bound_in_limit(lines[0]):
            return f"the {lines[0].called} ({lines[0].limit})"
        formulas, called = {line.formula for line in lines}, f"the {lines[0].called}"
        formula = formulas.pop() if len(formulas) == 1 else ""
        if not formula or len(formula) > LONGEST_FORMULA:
            return called
        if self._names.view.quantity.as_measured:
            return formula
        return called if in_brief else f"{called}, made of {formula}"

    def _kept_out(self, lines: Sequence[LineView]) -> str:
        """How long a lower bound keeps those that it binds from coming down, as far as the places show at
        which it is known."""
        if self._low is None or len(lines) > 1:
            return ""
        line, view = lines[0], self._names.view
        allowed = np.flatnonzero(~(line.y >= self._low - self._names.rounding))
        count = int(allowed[0]) if len(allowed) else len(line.y)
        if count < 2:
            return ""
        nor = f", nor below {number(self._low)}"
        if count < len(line.y) and view.picture.x != "time" and line.x[count] == line.x[count - 1] + 1:
            return f"{nor} before {self._names.at(float(line.x[count]))}"
        return f"{nor} up to {self._names.at(float(line.x[count - 1]))}"

    def _free(self, kind: str) -> list[Pair]:
        """The curves of which a lower bound of a kind says something, though it does not bind them."""
        lines = [line for line in self._lower if line.kind == kind]
        about = [(curve, [line for line in lines if line.says(curve)]) for curve in self._names.learners]
        return [Pair(curve, own[0]) for curve, own in about if own and not own[0].binds(curve)]

    def _others(self, kind: str) -> Iterator[Clause]:
        """How those stand to a lower bound whom no bound of its kind binds."""
        sides = grouped((self._falls_below(pair), pair.curve) for pair in self._free(kind))
        below, above = (sides.get(side, []) for side in (True, False))
        those = below or above
        if those:
            falls = plural("falls", those) if below else f"{plural('does', those)} not fall"
            long, brief = (
                listed([name(one) for one in those]) for name in (self._names.name, self._names.brief)
            )
            text = f"{long}, which it does not bind, {falls} below it{'' if below else ', either'}"
            if below and above:
                text += f", {listed(list(map(self._names.name, above)))} {plural('does', above)} not"
            yield Clause(text, f"{brief} {falls} below it", of_theory=True)

    def _crossed(self, bound: Collection[str], shown: LineView) -> Iterator[Clause]:
        """Of those that bounds bind the ones that fall below bounds of others, the one named left out:
        below the weakest of these."""
        others = [line for line in self._lower if line.kind != shown.kind]
        found, binding = [], [line for line in others if any(map(line.binds, self._names.learners))]
        for curve in (one for one in self._names.learners if one.name in bound):
            free = [line for line in binding if line.says(curve) and not line.binds(curve)]
            crossed = [line for line in free if self._falls_below(Pair(curve, line))]
            if crossed:
                found.append((min(crossed, key=_strength), self._names.name(curve)))
        for what, names in grouped((self._what([line]), name) for line, name in found).items():
            text = f"{listed(names)} {plural('falls', names)} even below {what}"
            yield Clause(text, text, of_theory=True)

    def _compared(self) -> Iterator[Clause]:
        """Who stays on one side of a line that is only there to compare with, or between two of a kind."""
        lines = [line for line in self._names.view.lines if line.direction == "reference" and len(line.x)]
        about = [Pair(curve, line) for curve in self._names.learners for line in lines if line.says(curve)]
        beside = grouped(((one.curve, one.line.kind), one) for one in about if one.line.binds(one.curve))
        alike = grouped((self._sides(pairs), pairs) for pairs in beside.values())
        for side, some in alike.items():
            if side:
                callers = (self._names.name, self._names.brief)
                long, brief = (listed([name(pairs[0].curve) for pairs in some]) for name in callers)
                said = plural(side, some)
                by = "" if len(some[0]) > 1 else self._by([pairs[0] for pairs in some])
                yield Clause(f"{long} {said}{by}", f"{brief} {said}", of_theory=True)

    def _sides(self, pairs: Sequence[Pair]) -> str:
        """How a curve lies to the lines of one kind; nothing where it crosses one."""
        sides, those = set(map(self._side, pairs)), listed([f"the {pair.line.called}" for pair in pairs])
        if sides == {"stays above", "stays below"}:
            return f"stays between {those}"
        return f"{side} {those}" if len(sides) == 1 and (side := sides.pop()) else ""

    def _side(self, pair: Pair) -> str:
        """On which side of a line a curve stays; empty where it is on both."""
        gap = _beside(pair).gap
        if not len(gap):
            return ""
        above, below = bool((gap >= -self._names.rounding).all()), bool((gap <= self._names.rounding).all())
        return "follows" if above and below else "stays above" if above else "stays below" if below else ""

    @staticmethod
    def _by(pairs: Sequence[Pair]) -> str:
        """By what shares of it curves are off a line, where it is not 0."""
        beside = [_beside(pair) for pair in pairs]
        heights = np.abs(np.concatenate([one.heights for one in beside]))
        if heights.min() <= ZERO:
            return ""
        shares = 100 * np.abs(np.concatenate([one.gap for one in beside])) / heights
        least, most = percent(float(shares.min())), at_most(float(shares.max()))
        if shares.max() <= 100 * CLOSE:
            return f" by at most {most}" if shares.max() > 0 else ""
        return f" by at least {least}" if shares.min() > 0 else ""

    def _falls_below(self, pair: Pair) -> bool:
        """Whether a curve is somewhere below a line by more than its error."""
        gap, _, errors = _beside(pair)
        return bool((-gap > np.maximum(errors, self._names.rounding)).any())

    def _conjectured(self) -> Iterator[Clause]:
        """What is only conjectured, and who falls below it."""
        for lines in grouped((line.kind, line) for line in self._guesses).values():
            pairs = [
                Pair(curve, line) for curve in self._names.learners for line in lines if line.says(curve)
            ]
            names = [self._names.name(pair.curve) for pair in pairs if self._falls_below(pair)]
            text = f"the {lines[0].called} is only conjectured"
            if names:
                text += f", and {listed(names)} {plural('falls', names)} below it"
            yield Clause(text, text, of_theory=True, named=False, brief_named=False)

    def _of_unknown_height(self) -> Iterator[Clause]:
        """Of what is known up to constants, that no curve can be above or below it."""
        for called in dict.fromkeys(line.called for line in self._shapes):
            text = f"the {called} has constants that are not known, so that its height says nothing"
            brief = f"of the {called} only the course counts"
            yield Clause(text, brief, of_theory=True, named=False, brief_named=False)


def _beside(pair: Pair) -> Beside:
    curve, line = pair
    there = known(curve) & (curve.x >= line.x[0]) & (curve.x <= line.x[-1])
    heights = np.interp(curve.x[there], line.x, line.y)
    errors = np.zeros_like(heights) if curve.stderr is None else ERRORS * np.nan_to_num(curve.stderr[there])
    return Beside(curve.y[there] - heights, heights, errors)


def _close(pair: Pair) -> float | None:
    """By what share of a bound a curve is off at most; None where that is not close, or the bound is 0."""
    gap, heights, _ = _beside(pair)
    if heights.min(initial=np.inf) <= ZERO:
        return None
    share = float((np.abs(gap) / heights).max(initial=0.0))
    return share if share <= CLOSE else None


def is_bound_in_limit(line: LineView) -> bool:
    """Whether a line is what bounds those that it binds from below in a limit."""
    return line.direction == "asymptotic" and line.group is not None and not line.curve


def _strength(line: LineView) -> float:
    """The greater, the more a bound says in the mean."""
    return -line.mean if line.direction == "upper" else line.mean


def _strongest(lines: Sequence[LineView]) -> LineView:
    """The bound that says most; of equals one about every run."""
    most = max(map(_strength, lines))
    equal = [line for line in lines if _strength(line) >= most - ALIKE * abs(most)]
    return min(equal, key=lambda line: line.in_expectation)


def _is_of_rotations(lines: Sequence[LineView]) -> bool:
    """Whether bounds are on all rotation-invariant learners."""
    return all(line.group == ROTATIONS for line in lines)


def _never_below(lines: Sequence[LineView], what: str) -> str:
    """Who never falls below a lower bound."""
    called = f"the {lines[0].called}"
    if _is_of_rotations(lines):
        return f"no rotation-invariant learner falls below {what}"
    if all(line.group == TRIVIAL for line in lines):
        return f"no learner on rotated data falls below {what}"
    if what == called:
        return f"no learner that {what} binds falls below it"
    return f"no learner that {called} binds falls below {what}"
