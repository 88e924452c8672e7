"""State that outlives the app: configuration, saved set-up, and other files."""
