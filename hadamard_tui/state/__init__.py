"""State that outlives the app: configuration, remembered set-up, and files that are written atomically."""
