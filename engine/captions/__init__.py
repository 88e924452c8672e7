"""Captions: what the curves and the theory lines of a view show, in one or two sentences."""
