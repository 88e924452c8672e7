"""The typed description of an experiment. The preset file format is exactly this."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from engine.spec.claim import MOST_WORDS, Claim
from engine.spec.setup import Setup

MOST_CLAIMS = 1000
"""Claims of an experiment at most: each is a line that somebody reads."""


class Experiment(Setup, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A problem, a protocol, the learners that meet it, and what is claimed of the outcome."""

    title: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    story: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    source: Annotated[str, Meta(max_length=MOST_WORDS)] = ""
    claims: Annotated[tuple[Claim, ...], Meta(max_length=MOST_CLAIMS)] = ()
