"""Passes over weights in tiles, compiled by numba: what the backend `compiled` is made of."""
