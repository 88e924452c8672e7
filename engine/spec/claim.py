"""What a preset claims of its curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from engine.core.parts import LARGEST, MOST, BadField
from engine.measures import named
from engine.spec.learner import Name

MOST_WORDS = 10_000
"""Letters of a text at most: a story that somebody reads in the app."""


if TYPE_CHECKING:
    MeasureName = str
else:
    MeasureName = Literal[tuple(name for name, measure in named().items() if measure.is_number)]


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence about a curve that a run proves or refutes.

    With `k` it compares the loss after k examples with `loss` (± `within`, or ± `standard_errors`), `below`
    or `above`; or, of classification, the 0/1 error with `error` ± `within`; or, where the run records the
    spectrum, the `rank` of the weights across targets. `of` says of which measure `below` and `above` speak.

    Over the whole curve, `never_below` and `never_above` name a bound that the curve respects, and `follows`
    one that it stays on, ± `within` and ± `standard_errors`; `same_as` names another learner whose curve it
    stays on, ± `within`. `diverges` says that the learner will.
    """

    text: Annotated[str, Meta(min_length=1, max_length=MOST_WORDS)]
    learner: Name
    k: Annotated[int, Meta(ge=0, le=MOST)] | None = None
    loss: float | None = None
    within: Annotated[float, Meta(ge=0, le=LARGEST)] | None = None
    standard_errors: Annotated[float, Meta(ge=0, le=LARGEST)] | None = None
    error: float | None = None
    rank: Annotated[int, Meta(ge=0, le=MOST)] | None = None
    below: float | None = None
    above: float | None = None
    of: MeasureName = "loss"
    never_below: Name | None = None
    never_above: Name | None = None
    follows: Name | None = None
    same_as: Name | None = None
    diverges: Literal[True] | None = None

    def __post_init__(self) -> None:
        at_k = ("loss", "error", "rank", "below", "above")
        forms = (*at_k, "never_below", "never_above", "follows", "same_as", "diverges")
        given = [form for form in forms if getattr(self, form) is not None]
        if len(given) != 1:
            raise BadField("text", f"a claim needs exactly one of {', '.join(forms)}")
        form = given[0]
        if form in at_k and self.k is None:
            raise BadField(
                "k", f"missing; a claim with {form!r} speaks of the {self.measure} after k examples"
            )
        meaningful = {
            "loss": {"k", "within", "standard_errors"},
            "error": {"k", "within"},
            "rank": {"k"},
            "below": {"k", "of"},
            "above": {"k", "of"},
            "same_as": {"within"},
            "diverges": set(),
        }.get(form, {"within", "standard_errors"})
        for name, default in (("k", None), ("within", None), ("standard_errors", None), ("of", "loss")):
            if getattr(self, name) != default and name not in meaningful:
                raise BadField(name, f"means nothing in a claim with {form!r}; leave it out")
        needs = form in ("loss", "error", "follows", "same_as")
        if needs and self.within is None and self.standard_errors is None:
            or_errors = ", or standard_errors = …" if "standard_errors" in meaningful else ""
            raise BadField(form, f"needs a tolerance: within = …{or_errors}")
        for name in ("loss", "error", "within", "standard_errors", "below", "above"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise BadField(name, f"{value} is not a finite number; no measurement could decide it")

    @property
    def measure(self) -> str:
        """What a claim about a single k speaks of."""
        return "error" if self.error is not None else "rank" if self.rank is not None else self.of
