"""Content of the preset browser: presets by subject, previews of their runs, and new experiments."""
