"""Loops over weight vectors, compiled by numba: what the backend `compiled` is made of."""
