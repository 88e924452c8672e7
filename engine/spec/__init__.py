"""Preset files: how experiments are written in TOML, with expressions such as 1/(2d) for numbers."""
