"""Presets to browse: by subject, with previews of their runs."""
