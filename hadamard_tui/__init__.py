"""The terminal laboratory: an app and a command line over the engine."""

import gc

NAME = "hadamard-tui"
"""The command, and the folders that the system keeps for it."""

GARBAGE, TIMES = 50_000, 1
"""How many objects are made between two looks at the young ones for garbage; every fourth looks at all.

With Python's own 700 the collector takes a tenth of the time in which the modules are loaded, and a quarter
of the time that keys take: Textual makes some ten dictionaries for every line of every frame. With Python's
own 10 for how many looks there are at the young ones between two at the older ones, what is left of two
thousand runs would be there before the first of them is gone.
"""

gc.set_threshold(GARBAGE, TIMES, TIMES)
