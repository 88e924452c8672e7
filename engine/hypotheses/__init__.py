"""Hypotheses: their interface, and the curvature of their loss."""
