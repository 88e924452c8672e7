"""The terminal laboratory: an app and a command line over the engine."""
