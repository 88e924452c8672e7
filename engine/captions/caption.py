"""The caption of a picture: what curves and lines of theory show, in one or two sentences made by rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.captions.clause import MARK, Clause
from engine.captions.clauses import clauses
from engine.captions.room import PLENTY, Room
from engine.claims import Outcome
from engine.core.texts import cut
from engine.pictures.view import View

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
    called = [(letters[one.name], view.short_name(one)) for one in view.curves if one.name in letters]
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
