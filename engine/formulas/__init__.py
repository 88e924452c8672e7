"""Closed forms and fixed points of theory, as functions of numbers alone."""
