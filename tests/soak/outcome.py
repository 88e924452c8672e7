"""Counts and failures of a part of the soak."""

from __future__ import annotations

import msgspec

KINDS = ("exception", "hang", "loss", "terminal", "growth")
"""Exceptions and exits that nobody asked for; no answer in time; set-ups and files lost or torn; a terminal
that was not restored; memory, descriptors or threads that grow."""


class Failure(msgspec.Struct):
    """A failure, with the command that reproduces it."""

    kind: str
    what: str
    again: str
    """The command that draws the same input."""
    last: str = ""
    """The last input before it, and what the program wrote."""


class Outcome(msgspec.Struct):
    """Result of a part: counts by name, in the order of the table, and failures."""

    part: str
    seed: int
    did: dict[str, float] = {}
    failures: list[Failure] = []

    def count(self, name: str, more: float = 1) -> None:
        """Add to a count."""
        self.did[name] = self.did.get(name, 0) + more

    def record_largest(self, name: str, value: float) -> None:
        """Keep the largest value recorded under a name."""
        self.did[name] = max(self.did.get(name, 0.0), value)

    def fail(self, kind: str, description: str, again: str, last: str = "") -> None:
        """Record a failure and print it at once."""
        assert kind in KINDS
        self.failures.append(Failure(kind, description, again, last))
        print(f"{kind}: {description}\n  again: {again}", flush=True)
        if last:
            print("  " + last.replace("\n", "\n  "), flush=True)
