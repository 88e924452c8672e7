"""Presets for browsing: by subject, with previews of their runs."""
