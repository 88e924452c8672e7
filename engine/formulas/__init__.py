"""Closed forms and fixed points that theory states, as functions of numbers alone."""
