"""Terminal laboratory: an app and a command line over the engine."""

import gc

NAME = "hadamard-tui"
"""Name of the command, and of its folders in the system."""

GARBAGE, TIMES = 50_000, 1
"""Settings of the garbage collector; every fourth collection examines all objects.

Textual creates about ten dictionaries per line of every frame. With Python's own 700, collections take a
tenth of the loading time, and a quarter of the time of keys. With Python's own 10 young collections per older
one, the remains of two thousand runs would pile up before the first is freed.
"""

gc.set_threshold(GARBAGE, TIMES, TIMES)
