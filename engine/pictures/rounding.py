"""How far rounding alone moves what a picture shows."""

ROUNDING = {"float32": 1e-5, "float64": 1e-11}
"""What arithmetic alone may move a loss, relative to the initial loss."""

ZERO = 1e-12
"""A bound below this is 0 up to rounding, and nothing is a multiple of it."""

QUIET = 1e-11
"""A curve that stays below this is 0 but for rounding."""

NEAR = 1e-9
"""Places that differ by less than this, relatively, are the same."""
