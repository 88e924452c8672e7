"""`python -m hadamard_tui` is the command `hadamard-tui`."""

import sys

from hadamard_tui.cli import main

sys.exit(main())
