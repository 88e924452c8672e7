"""Closed formulas and fixed-point equations from theory, as functions of plain numbers."""
