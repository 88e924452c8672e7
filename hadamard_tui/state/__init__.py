"""State that remains between sessions of the app: configuration, saved set-up, stored runs."""
