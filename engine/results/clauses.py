"""What captions are made of: clauses on what the curves and the lines of theory of a view show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.core.groups import ROTATIONS
from engine.pictures.respect import respect
from engine.pictures.view import ZERO, CurveView, HeatView, LineView, View
from engine.protocols import CLOCKS
from engine.results.gap import Gap
from engine.results.ranges import Range, known, values_of
from engine.results.wording import MOST, first_of, listed, number, percent, plural

Floats = NDArray[np.float64]

SHARE = 0.1
"""A curve that starts at y₀ > 0 has come down once it is below SHARE·y₀."""

ALIKE = 0.25
"""Curves start alike if they do so within this share of the greatest."""

QUIET = 1e-11
"""A curve that stays below this is 0 but for rounding."""

NEAR = 0.1
"""A ratio that differs from 1 by less is near it."""

FITS = 0.99
"""The share of the variance of log y that a power law has to explain to be told."""

POINTS, SPAN = 4, 4.0
"""A power law takes at least so many places, the last at least so many times the first."""


ROTATION_INVARIANT = "rotation-invariant learners"
"""What those are called in brief whom a bound on them binds, if their names are longer."""


class Clause(NamedTuple):
    """A part of a sentence, at length and in brief."""

    long: str
    brief: str
    of_theory: bool = False
    """Whether it is for the second sentence, on what theory and claims say."""

    named: bool = True
    """Whether it begins with a name, which no capital changes."""

    brief_named: bool = True
    """The same of the brief form."""

    briefer: tuple[str, ...] = ()
    """Ever shorter forms, all with a name first, for where not even the brief one has room."""

    @property
    def in_brief(self) -> Clause:
        """The brief form."""
        return self._replace(long=self.brief, named=self.brief_named)


class Arrival(NamedTuple):
    """A curve that has come down."""

    x: float
    """Where it first is."""

    for_good: str
    """From where on, in words, if it rises once more."""

    name: str
    """With its letter."""

    plain: str
    """Without it."""

    letter: str
    curve: str


class Clauses:
    """The clauses on one view."""

    def __init__(self, view: View, letters: Mapping[str, str]) -> None:
        self._view, self._letters = view, letters
        self._curves = [curve for curve in view.curves if known(curve).any()]
        self._learners = [curve for curve in self._curves if not curve.is_reference]
        self._low = self._threshold()

    def __iter__(self) -> Iterator[Clause]:
        """The clauses, the most telling first."""
        if self._view.heats:
            yield from map(self._range_of_heat, self._view.heats)
            return
        bound, followed = self._strongest(), list(self._followed())
        if self._low is not None:
            yield self._come_down(self._low, bound)
        elif not followed or (not self._along_clock and len(self._learners) == 1):
            yield from self._shapes()
        if bound is not None:
            yield self._bounded(bound)
        yield from self._diverged()
        yield from followed
        yield from self._conjectures()

    def _name(self, curve: CurveView) -> str:
        """The name of a curve with its letter; without that of its learner where there is no other."""
        letter, name = self._letters.get(curve.name), self._view.told_apart(curve)
        return f"{letter} ({name})" if letter else name

    def _letter(self, curve: CurveView) -> str:
        """What is least to be said of which curve is meant."""
        return self._letters.get(curve.name) or curve.name

    def _at(self, x: float) -> str:
        """A place on the x-axis, in words."""
        return f"{self._view.x_name} = {self._place(x)}"

    def _place(self, x: float) -> str:
        """The same without the name of the axis."""
        return self._view.name_at(x) or number(x)

    @property
    def _along_clock(self) -> bool:
        return self._view.picture.x in CLOCKS and self._view.picture.reading is None

    def _threshold(self) -> float | None:
        """A tenth of where the curves start, if they start alike above 0 and any of them comes there."""
        if not self._along_clock or not self._learners:
            return None
        starts = np.array([curve.y[0] for curve in self._learners])
        if not (np.isfinite(starts).all() and starts.min() > 0):
            return None
        if np.ptp(starts) > ALIKE * starts.max():
            return None
        low = float(f"{SHARE * starts.max():.1g}")
        return low if any(self._below(curve, low) is not None for curve in self._learners) else None

    @staticmethod
    def _below(curve: CurveView, low: float) -> float | None:
        """From where on a curve is below a height for good; None if it is not at its end."""
        above = np.flatnonzero(~(curve.y < low))
        first = int(above[-1]) + 1 if len(above) else 0
        return float(curve.x[first]) if first < len(curve.x) else None

    @classmethod
    def _first_below(cls, curve: CurveView, low: float) -> tuple[float, str] | None:
        """Where a curve that ends below a height first is, and from where on, if it rises once more."""
        if (for_good := cls._below(curve, low)) is None:
            return None
        first = float(curve.x[int(np.argmax(curve.y < low))])
        return first, f" (for good after {number(for_good)})" if for_good > first else ""

    def _come_down(self, low: float, bound: LineView | None) -> Clause:
        """Who is below a tenth of the start, in order of time."""
        found = [(self._first_below(curve, low), curve) for curve in self._learners if curve.chosen]
        there = sorted(
            Arrival(*first, self._name(curve), self._view.told_apart(curve), self._letter(curve), curve.name)
            for first, curve in found
            if first is not None
        )
        held, free = [], there
        if bound is not None:
            bound_names = {curve.name for curve, _ in self._held_up(bound)}
            held = [one for one in there if one.curve in bound_names]
            free = [one for one in there if one not in held] or there
        begin, *others = free
        text = f"{begin.name} is below {number(low)} after {self._at(begin.x)}{begin.for_good}"
        told, left = first_of(others, MOST - 1)
        text += "".join(f", {one.name} after {number(one.x)}{one.for_good}" for one in told)
        long = f"{text} and {left} more later" if left else text
        every = [*free[:MOST], *(held[:1] if held != free else [])]
        fewer = [every[:count] for count in range(len(every) - 1, 0, -1)]

        def below(some: Sequence[Arrival], by_letter: bool = False) -> str:
            first, *rest = (one.letter if by_letter else one.plain for one in some)
            after = "".join(
                f", {name} after {number(one.x)}" for name, one in zip(rest, some[1:], strict=True)
            )
            return f"{first} is below {number(low)} after {self._at(begin.x)}{after}"

        briefer = (below(every, True), *map(below, fewer), below(every[:1], True))
        return Clause(long, below(every), briefer=briefer)

    def _bound_by(self, line: LineView) -> list[CurveView]:
        """The curves of the learners that a line binds."""
        return [curve for curve in self._learners if line.binds(curve) and line.says(curve) and curve.chosen]

    def _strongest(self) -> LineView | None:
        """The greatest of the lower bounds that bind a curve here, or of all that say something of one."""
        lower = [
            line
            for line in self._view.lines
            if line.direction == "lower" and (line.y > ZERO).any() and any(map(line.says, self._learners))
        ]
        binding = [line for line in lower if self._bound_by(line)]
        return max(binding or lower, key=lambda line: float(np.nanmean(line.y)), default=None)

    def _held_up(self, line: LineView) -> list[tuple[CurveView, LineView]]:
        """The curves that lower bounds of this kind bind, each with the line that is about it."""
        alike = [one for one in self._view.lines if one.direction == "lower" and one.kind == line.kind]
        return [(curve, one) for one in alike for curve in self._bound_by(one)]

    def _bounded(self, line: LineView) -> Clause:
        """Whom a lower bound holds up, and how those here stand to it."""
        held_up, what = self._held_up(line), line.formula if self._view.as_measured else line.kind
        of_rotations = line.group == ROTATIONS
        who = "every rotation-invariant learner" if of_rotations else f"every learner that {line.kind} binds"
        text, last = f"{who} stays above {what}", ""
        if self._low is not None and len({one for _, one in held_up}) <= 1:
            last = self._kept_out(line, self._low)
            text += f" and cannot be there {last}" if last else ""
        if not held_up:
            brief = f"{what} binds none here"
            return Clause(f"{text}; none here is one of those", brief, of_theory=True, named=False)
        stands: dict[str, list[str]] = {}
        for curve, one in held_up:
            stands.setdefault(self._standing(curve, one), []).append(self._name(curve))
        said = [f"{listed(names)} {plural(how, names)}" for how, names in stands.items()]
        sides: dict[str, list[str]] = {}
        for how, names in stands.items():
            sides.setdefault(_in_brief(how, what), []).extend(names)
        told = {how: listed(names, 1 if len(names) > 2 else 2) for how, names in sides.items()}
        brief, of_name = ", ".join(f"{told[how]} {plural(how, names)}" for how, names in sides.items()), True
        if last and of_rotations and not any(how.startswith("is below") for how in stands):
            those = listed([self._view.told_apart(curve) for curve, _ in held_up])
            of_name = len(those) < len(ROTATION_INVARIANT)
            brief = f"{those if of_name else ROTATION_INVARIANT} cannot be {last}"
        elif last:
            brief += (
                f" and cannot be there {last}" if len(told) == 1 else f"; none of them can be there {last}"
            )
        long = f"{text}; {', '.join(said)}"
        return Clause(long, brief, of_theory=True, named=False, brief_named=of_name)

    def _kept_out(self, line: LineView, low: float) -> str:
        """How long a lower bound holds up whom it binds, as far as the places tell at which it is known."""
        allowed = np.flatnonzero(~(line.y >= low))
        count = int(allowed[0]) if len(allowed) else len(line.y)
        if not count:
            return ""
        counted = self._view.picture.x != "time"
        if counted and count < len(line.y) and line.x[count] == line.x[count - 1] + 1:
            return f"before {self._at(float(line.x[count]))}"
        return f"up to {self._at(float(line.x[count - 1]))}"

    def _standing(self, curve: CurveView, line: LineView) -> str:
        """How a curve stands to a lower bound that binds it."""
        found = respect(curve, line, self._view.rounding)
        if found.exact:
            return "follows that line exactly"
        if not found.beyond:
            return "stays above it"
        if found.holds:
            return "stays above it within its error"
        below = f"is below it by {found.beyond:.1g} at {self._at(found.at)}"
        if found.holds is False:
            return f"{below}, against the theorem"
        of_one = curve.replicas == 1 or curve.summary in ("first", "min", "max")
        return f"{below}, as {'a single run' if of_one else 'so few runs'} may be"

    def _followed(self) -> Iterator[Clause]:
        """How close curves come to lines that theory says are theirs: exactly, or else in a limit."""
        for kind in ("exact", "asymptotic"):
            close = []
            for line in (one for one in self._view.lines if one.direction == kind):
                own = [one for one in self._learners if line.curve and line.says(one)]
                close += [
                    (self._name(curve), self._gap(curve, line)) for curve in own or self._bound_by(line)
                ]
            if not close:
                continue
            values = f"the {kind} value{'s' if len(close) > 1 else ''}"
            alike: dict[str, list[str]] = {}
            for name, gap in close:
                alike.setdefault(gap.in_words, []).append(name)
            every = [f"{listed(names)} {plural(how, names)}" for how, names in alike.items()]
            named, left = first_of(every)
            said = ", ".join(named) + (f", and {left} others" if left else "")
            who = close[0][0] if len(close) == 1 else f"{len(close)} curves"
            near = f"{plural('is', close)} {Gap.widest([gap for _, gap in close])}"
            yield Clause(f"beside {values} {said}", f"{who} {near} {values}", of_theory=True, named=False)
            return

    def _gap(self, curve: CurveView, line: LineView) -> Gap:
        """How far a curve is from a line that is its own."""
        there = known(curve) & (curve.x >= line.x[0]) & (curve.x <= line.x[-1])
        theory = np.interp(curve.x[there], line.x, line.y)
        stderr = None if curve.stderr is None else curve.stderr[there]
        gap = Gap.between(curve.y[there], theory, stderr, self._view.rounding, self._view.y_log)
        return gap._replace(last="") if line.direction == "exact" else gap

    def _shapes(self) -> Iterator[Clause]:
        """Power laws where both axes are logarithmic; where other curves go; which are 0 all along."""
        zero = self._rounding
        quiet = [curve for curve in self._learners if np.abs(values_of(curve)).max() <= max(zero, QUIET)]
        ending = self._ending()
        laws, others = {}, []
        for curve in (one for one in self._learners if one not in [*quiet, *ending]):
            exponent = _power_law(curve) if self._view.x_log and self._view.y_log else None
            if exponent is None:
                others.append(curve)
            else:
                x = self._view.x_name
                laws[self._name(curve)] = f"{f'({x})' if ' ' in x else x}^{exponent:.2f}"
        if laws:
            (name, law), *more = laws.items()
            first = f"{name} goes like {law}"
            long, brief = (
                listed([first, *(f"{name} {verb}like {law}" for name, law in more)]) for verb in ("goes ", "")
            )
            yield Clause(long, brief)
        if others:
            ranges = [Range(self._name(curve), curve, self._place, zero) for curve in others]
            yield self._ranges(
                ranges, 1 if laws else 2, Range(self._letter(others[0]), others[0], self._place, zero)
            )
        if ending:
            far = max(abs(float(values_of(curve)[-1]) - 1) for curve in ending)
            near = "at" if far <= self._view.rounding else f"within {percent(100 * far)} of"
            names = [self._name(curve) for curve in ending]
            text = f"{listed(names)} {plural('ends', names)} {near} {self._view.divisor}"
            yield Clause(text, text)
        if quiet:
            names = [self._name(curve) for curve in quiet]
            text = f"{listed(names)} {plural('is', names)} 0 but for rounding"
            yield Clause(text, text)

    def _ending(self) -> list[CurveView]:
        """The curves that end near what the picture is relative to."""
        if not self._view.divisor or not self._view.along_records:
            return []
        return [curve for curve in self._learners if abs(values_of(curve)[-1] - 1) <= NEAR]

    @property
    def _rounding(self) -> float:
        """What is 0 but for rounding: of the greatest value what arithmetic may move; its square where only a
        logarithmic axis shows values that are so small, unless they say how far two runs are apart."""
        squares = self._view.y_log and self._view.picture.measure.under is None
        share = self._view.rounding ** (2 if squares else 1)
        return share * max((float(np.abs(values_of(curve)).max()) for curve in self._learners), default=0.0)

    def _ranges(self, ranges: Sequence[Range], few: int, by_letter: Range) -> Clause:
        """From where to where some curves go, and by which other values; in brief of a few, in the briefest
        form of the first, by its letter."""
        told, left = first_of(ranges)
        more = f", and {left} more" if left else ""
        begin, *rest = ranges
        others = len(ranges) - few
        brief = ", ".join([begin.going, *(one.values for one in ranges[1:few])])
        brief = (
            f"{brief}, and {others} more"
            if others > 0
            else listed([begin.going, *(one.values for one in rest)])
        )
        briefer = (by_letter.going,)
        (first, last), *elsewhere = {(one.x[0], one.x[-1]) for one in ranges}
        if rest and not elsewhere:
            values = ", ".join(f"{one.values}{one.way}" for one in told[1:])
            long = f"along {self._at(first)} to {self._place(last)}: {begin.going}{begin.way}, {values}{more}"
            return Clause(long, brief, named=False, briefer=briefer)
        long = "; ".join(one.told(self._view.x_name) for one in told) + more
        return Clause(long, brief, briefer=briefer)

    def _range_of_heat(self, heat: HeatView) -> Clause:
        """The least and the greatest value of a heat map, and where they are."""
        if not np.isfinite(heat.z).any():
            said = f"{heat.learner} has no values yet"
            return Clause(said, said)
        z = np.where(np.isfinite(heat.z), heat.z, np.nan)
        least, greatest = (self._cell(heat, one(z)) for one in (np.nanargmin, np.nanargmax))
        ends = f"{number(float(np.nanmin(z)))} to {number(float(np.nanmax(z)))}"
        text = f"{heat.learner} goes from {least} to {greatest}"
        if heat is self._view.heats[0]:
            return Clause(f"{self._view.y_label}: {text}", f"{heat.learner} goes from {ends}", named=False)
        return Clause(text, f"{heat.learner} from {ends}")

    def _cell(self, heat: HeatView, which: np.intp) -> str:
        """The value of a cell of a heat map, and where it is."""
        row, column = np.unravel_index(which, heat.z.shape)
        across = f"{self._view.x_name} = {number(float(heat.x[column]))}"
        up = f"{self._view.y_name} = {number(float(heat.y[row]))}"
        return f"{number(float(heat.z[row, column]))} ({across}, {up})"

    def _diverged(self) -> Iterator[Clause]:
        gone = [curve for curve in self._view.curves if curve.diverged and curve.chosen]
        if gone:
            said = []
            for curve in gone:
                those = f" in {curve.diverged} of {curve.replicas} replicas" if curve.replicas > 1 else ""
                at = "" if curve.diverged_at is None else f" at {self._at(curve.diverged_at)}"
                said.append(f"{self._name(curve)} diverged{those}{at}")
            yield Clause(listed(said), f"{listed([self._name(curve) for curve in gone])} diverged")

    def _conjectures(self) -> Iterator[Clause]:
        kinds = dict.fromkeys(line.kind for line in self._view.lines if line.direction == "conjecture")
        if kinds:
            text = f"{listed(list(kinds))} {'is' if len(kinds) == 1 else 'are'} only conjectured"
            yield Clause(text, text, of_theory=True)


def _power_law(curve: CurveView) -> float | None:
    """The exponent of y ∝ x^a by least squares in logarithms, where that is what a curve is."""
    there = known(curve) & (curve.y > 0) & (curve.x > 0)
    x, y = np.log(curve.x[there]), np.log(curve.y[there])
    if len(x) < POINTS or np.ptp(x) < np.log(SPAN) or np.ptp(y) == 0:
        return None
    slope, height = np.polyfit(x, y, 1)
    left = float(np.var(y - slope * x - height))
    return float(slope) if left <= (1 - FITS) * float(np.var(y)) else None


def _in_brief(how: str, what: str) -> str:
    """How a curve stands to a bound, in a few words."""
    if how.startswith("follows"):
        return f"follows {what}"
    against = ", against the theorem" if how.endswith("against the theorem") else ""
    return f"is {'below' if how.startswith('is below') else 'above'} {what}{against}"
