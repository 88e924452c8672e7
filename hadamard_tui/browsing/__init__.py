"""The preset browser: presets by subject, previews of their runs, and new experiments."""
