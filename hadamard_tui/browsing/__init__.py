"""The presets as a person looks through them: by subject, with what their runs look like."""
