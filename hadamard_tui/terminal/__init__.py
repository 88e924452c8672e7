"""Terminal below the app: its load, its signals and its standard streams."""
