"""Themes of the app, and the colours of curves and heat maps."""
