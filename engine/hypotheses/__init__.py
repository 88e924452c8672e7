"""Interfaces of hypotheses (trained models), and the curvature of their training loss."""
