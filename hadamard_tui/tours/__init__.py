"""Guided tours through presets."""
