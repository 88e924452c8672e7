"""Interfaces of hypotheses, and the curvature of their training loss."""
