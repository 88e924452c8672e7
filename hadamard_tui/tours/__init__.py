"""Guided tours through presets: their stops, and the talks that list them."""
