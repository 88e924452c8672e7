"""Themes, and the colours of curves."""
