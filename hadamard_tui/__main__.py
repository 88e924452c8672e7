"""Entry point of `python -m hadamard_tui`, which is the command `hadamard-tui`."""

import sys

from hadamard_tui.cli import main

sys.exit(main())
