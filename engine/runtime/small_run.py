"""Program that runs an experiment, given as JSON, so that its compiled code stays on disk."""

from __future__ import annotations

import sys

import msgspec

from engine.runtime.run import run
from engine.spec.experiment import Experiment


def main(words: str) -> None:
    """Run an experiment."""
    run(msgspec.json.decode(words, type=Experiment))


if __name__ == "__main__":
    main(sys.argv[1])
